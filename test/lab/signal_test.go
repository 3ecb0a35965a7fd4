package lab

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever asks the lab to end, it ends as by an interrupt: its servers,
// control groups, volumes and trees are gone when it has ended. Terminals
// and timeout(1) send their signal twice, and a pipe breaks when its reader is
// hung up.
func TestAskedToEnd(t *testing.T) {
	needRoot(t)
	needServer(t, mariadb, "/sbin/mkfs.xfs")
	for name, end := range map[string]func(p *os.Process, out io.Closer) error{
		"terminated":     func(p *os.Process, _ io.Closer) error { return twice(p, syscall.SIGTERM) },
		"hung up":        func(p *os.Process, _ io.Closer) error { return twice(p, syscall.SIGHUP) },
		"nobody listens": func(p *os.Process, out io.Closer) error { return out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "hung up" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("these tests were started with nohup, which what they start keeps to")
			}
			l := newLab(t)
			cmd := exec.Command(plumb.Path, l.args("testdata/crash.yaml")...)
			var said bytes.Buffer
			cmd.Stderr = &said
			if name == "nobody listens" {
				cmd.Stderr = nil
			}
			read, write, err := os.Pipe()
			must(t, err)
			defer read.Close()
			if cmd.Stderr == nil {
				cmd.Stderr = write
			}
			cmd.Stdout = write
			must(t, cmd.Start())
			write.Close()
			for end := time.Now().Add(2 * time.Minute); !l.serves(); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					cmd.Process.Kill()
					cmd.Wait()
					t.Fatalf("it never started a server: %s", said.String())
				}
			}
			must(t, end(cmd.Process, read))
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 3 {
				t.Errorf("%v, %q", cmd.ProcessState, said.String())
			}
			if name != "nobody listens" && !strings.Contains(said.String(), "interrupted") {
				t.Errorf("it says %q", said.String())
			}
			l.nothingLeft()
		})
	}
}

func twice(p *os.Process, s os.Signal) error {
	if err := p.Signal(s); err != nil {
		return err
	}
	return p.Signal(s)
}

// serves tells whether a server of this lab runs.
func (l lab) serves() bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), l.dir) && strings.Contains(strings.SplitN(string(text), "\x00", 2)[0], "mariadbd") {
			return true
		}
	}
	return false
}
