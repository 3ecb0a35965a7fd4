package monitoring

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// children gives what a process has started and that still runs: the arguments, by process id.
func children(pid int) map[int]string {
	all := map[int]string{}
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) < 2 || f[1] != strconv.Itoa(pid) {
			continue
		}
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		args, _ := os.ReadFile(filepath.Dir(name) + "/cmdline")
		all[id] = strings.ReplaceAll(string(args), "\x00", " ")
	}
	return all
}

// mebibytes gives what /proc/PID/status says of memory.
func mebibytes(t *testing.T, pid int, name string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatalf("there is no %s in\n%s", name, text)
	return 0
}

// The host as a whole is read and judged by processes that end, so what stays
// is small, at its largest too. One that is killed is an error that names it.
func TestWhatStaysIsSmall(t *testing.T) {
	sandbox.NeedTime(t, "watches this host for some seconds: make test-real")
	p := program.ForTest(t)
	small := func(c *exec.Cmd) {
		t.Helper()
		most, now := mebibytes(t, c.Process.Pid, "VmHWM"), mebibytes(t, c.Process.Pid, "RssAnon")
		t.Logf("%s: %.1f MiB were resident at most, %.1f MiB are anonymous", c.Args[2], most, now)
		if most > 80 || now > 40 {
			t.Error("80 and 40 were promised")
		}
	}
	looking := func(c *exec.Cmd, what string) (child int) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			for pid, args := range children(c.Process.Pid) {
				if strings.Contains(args, " "+what+" ") {
					return pid
				}
			}
		}
		t.Fatalf("no plumb %s is started", what)
		return 0
	}

	recorder, _ := watching(t, p, "record", "--dir", filepath.Join(t.TempDir(), "watch"))
	c, said := watching(t, p, "metrics", "--listen", "127.0.0.1:0")
	page := listening(t, said)
	looking(c, "look")
	looking(c, "judge")
	eventually(t, "the host is checked", 2*time.Minute, func() bool { return strings.Contains(got(page), "\nplumb_findings ") })
	time.Sleep(60 * time.Second) // windows are judged and blocks are written meanwhile
	small(c)
	small(recorder)

	c, said = watching(t, p, "metrics", "--listen", "127.0.0.1:0")
	if err := syscall.Kill(looking(c, "look"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(said)
	if err := c.Wait(); err == nil || !strings.Contains(string(text), "plumb look") || !strings.Contains(string(text), "killed") {
		t.Errorf("its reader was killed, and it ended with %v: %s", err, text)
	}
}
