package web_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser is a real Chromium without a window, driven over a pipe.
type browser struct {
	t        *testing.T
	to       *os.File
	from     *bufio.Reader
	session  string
	last     int
	problems []string // what the browser complains about: errors, and what the policy forbids
}

type cdp struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && program == "" {
			program = p
		}
	}
	if program == "" {
		t.Skip("Chromium is not installed: make test-real installs it")
	}
	ours, theirs := pipes(t)
	c := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	c.ExtraFiles = theirs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		f.Close()
	}
	t.Cleanup(func() {
		ours[0].Close()
		c.Process.Kill()
		c.Wait()
		time.Sleep(200 * time.Millisecond) // its children let go of the directory
	})
	b := &browser{t: t, to: ours[0], from: bufio.NewReaderSize(ours[1], 1<<20)}
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable"} {
		b.do(domain, nil, nil)
	}
	return b
}

func pipes(t *testing.T) (ours, theirs []*os.File) {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return []*os.File{inW, outR}, []*os.File{inR, outW}
}

// do sends a command and waits for its result.
func (b *browser) do(method string, params, result any) {
	b.t.Helper()
	b.last++
	m := map[string]any{"id": b.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		answer, err := b.from.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var got cdp
		if err := json.Unmarshal(answer[:len(answer)-1], &got); err != nil {
			b.t.Fatal(err)
		}
		switch got.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown":
			b.problems = append(b.problems, string(got.Params))
		}
		if got.ID != b.last {
			continue
		}
		if got.Error != nil {
			b.t.Fatalf("%s: %s", method, got.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(got.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// js evaluates an expression and gives its value as text.
func (b *browser) js(expression string) string {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
	return fmt.Sprint(out.Result.Value)
}

// until waits for an expression to be true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for range 200 {
		if b.js(expression) == "true" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.t.Fatalf("%s does not become true; the page says %.600s", expression, b.js("document.body.innerText"))
}

func (b *browser) open(url string) { b.do("Page.navigate", map[string]any{"url": url}, nil) }

func (b *browser) look(width, height int, dark bool) {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	time.Sleep(300 * time.Millisecond) // it lays out and draws
}

// shoot keeps a picture of the whole page, if PLUMB_SCREENS names a directory.
func (b *browser) shoot(name string) {
	dir := os.Getenv("PLUMB_SCREENS")
	if dir == "" {
		return
	}
	var out struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &out)
	png, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func freePort(t *testing.T) (net.Listener, string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, l.Addr().String()
}
