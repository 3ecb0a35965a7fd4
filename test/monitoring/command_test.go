package monitoring

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

var whereItListens = regexp.MustCompile(`metrics at (http://127\.0\.0\.1:\d+/metrics)`)

// watching runs plumb watch until the end of the test, and gives what it says on its standard error.
func watching(t *testing.T, p program.Program, args ...string) (c *exec.Cmd, said *bufio.Reader) {
	t.Helper()
	c = exec.Command(p.Path, append([]string{"watch"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c, bufio.NewReader(errs)
}

// listening gives where it listens, which it says first.
func listening(t *testing.T, said *bufio.Reader) (page string) {
	t.Helper()
	line, err := said.ReadString('\n')
	at := whereItListens.FindStringSubmatch(line)
	if err != nil || at == nil {
		t.Fatalf("it said %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return at[1]
}

// The command as a user runs it, on this host: it listens at once, writes its
// file, answers a plugin, and takes the file away at its end.
func TestCommand(t *testing.T) {
	sandbox.NeedTime(t, "watches this host for some seconds: make test-real")
	p := program.ForTest(t)
	file := filepath.Join(t.TempDir(), "plumb.prom")
	c, said := watching(t, p, "metrics", "--listen", "127.0.0.1:0", "--textfile", file, "--interval", "1s")
	page := listening(t, said)
	eventually(t, "a page with the host is offered and written", 2*time.Minute, func() bool {
		written, err := os.ReadFile(file)
		return strings.Contains(got(page), "plumb_host_info{") && err == nil && strings.Contains(string(written), "plumb_host_info{")
	})
	if st, err := os.Stat(file); err != nil || st.Mode() != 0o644 {
		t.Errorf("the file: %v, %v", st.Mode(), err)
	}
	for _, from := range []string{page, file} {
		out, err := exec.Command(p.Path, "watch", "nagios", "--from", from).Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() > 3) || !strings.HasPrefix(string(out), "PLUMB ") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("nagios --from %s: %q, %v", from, out, err)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	out, err := exec.Command(p.Path, "watch", "nagios", "--from", file).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || !strings.HasPrefix(string(out), "PLUMB UNKNOWN - ") {
		t.Errorf("without the file: %q, %v", out, err)
	}
}

func got(page string) string {
	resp, err := http.Get(page)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}
