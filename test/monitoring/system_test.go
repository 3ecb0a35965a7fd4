package monitoring

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// programs gives the directory of the monitoring systems.
func programs(t *testing.T) string {
	t.Helper()
	sandbox.NeedTime(t, "runs real monitoring systems: make test-real")
	bin, err := sandbox.Monitoring()
	sandbox.Need(t, err)
	return bin
}

// start runs a program until the test ends, or until stop is called. What it
// says is shown if the test fails.
func start(t *testing.T, program string, args ...string) (stop func()) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			text, _ := os.ReadFile(name)
			t.Logf("%s said:\n%s", filepath.Base(program), text[max(0, len(text)-3000):])
		}
	})
	return stop
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, limit time.Duration, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s: not %s", limit, what)
		}
	}
}

// engine is a Prometheus or a VictoriaMetrics.
type engine struct {
	name, url string
	stop      func()
}

// ready waits until it answers.
func (e engine) ready(t *testing.T) engine {
	t.Helper()
	eventually(t, e.name+" answers", time.Minute, func() bool {
		resp, err := http.Get(e.url + "/api/v1/query?query=1")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return e
}

// prometheus starts one that scrapes targets every second, and takes remote write.
func prometheus(t *testing.T, bin string, rules string, targets map[string]string) engine {
	t.Helper()
	dir := t.TempDir()
	config := "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
	if rules != "" {
		if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
		config += "rule_files: [rules.yaml]\n"
	}
	config += "scrape_configs:\n  - job_name: plumb\n    static_configs:\n"
	for instance, at := range targets {
		config += fmt.Sprintf("      - {targets: [%q], labels: {instance: %q}}\n", at, instance)
	}
	if len(targets) == 0 {
		config += "      - {targets: []}\n"
	}
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	stop := start(t, bin+"/prometheus", "--config.file="+file, "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+at, "--web.enable-remote-write-receiver")
	return engine{"Prometheus", "http://" + at, stop}.ready(t)
}

// victoria starts a VictoriaMetrics on a directory and a port, which a second one may follow.
func victoria(t *testing.T, bin, dir string, port int) engine {
	t.Helper()
	at := fmt.Sprintf("127.0.0.1:%d", port)
	stop := start(t, bin+"/victoria-metrics", "-storageDataPath="+dir, "-httpListenAddr="+at, "-search.latencyOffset=0s", "-search.disableCache", "-memory.allowedBytes=256MB")
	return engine{"VictoriaMetrics", "http://" + at, stop}.ready(t)
}

// sample is a row of an answer.
type sample struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

// query asks for an expression now.
func (e engine) query(t *testing.T, expr string) []sample {
	t.Helper()
	return e.ask(t, "/api/v1/query?"+url.Values{"query": {expr}}.Encode())
}

func (e engine) ask(t *testing.T, path string) []sample {
	t.Helper()
	resp, err := http.Get(e.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Status, Error string
		Data          struct{ Result []sample }
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %s: %v %.500s", e.name, path, err, text)
	}
	return answer.Data.Result
}

// instances are the hosts that an answer is about.
func instances(rows []sample) string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Metric["instance"])
	}
	return strings.Join(all, " ")
}
