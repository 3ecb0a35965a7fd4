// Package boost_test runs plumb boost as a user does: the built program, real servers and pools.
package boost_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/namespace"
	"plumb/test/program"
	"plumb/test/sandbox"
)

var (
	built   program.Program
	servers = sandbox.Shared{Start: start}
)

func TestMain(m *testing.M) { program.Main(m, &built, servers.Close) }

func start(b *sandbox.Box, engine string) (*sandbox.Server, error) {
	if engine == "mysql" {
		return b.MySQL(sandbox.MySQLOptions{Name: "my", Port: 14973, Settings: "log_bin\nserver_id=1\nsync_binlog=1"})
	}
	return b.Postgres(sandbox.PostgresOptions{Name: "pg", Port: 14974})
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

// subject is what is sped up.
type subject struct {
	of    string
	state func() string // of all that boost may touch
	other func()        // somebody sets it to something else
	reset func()
	kept  string // what of that must be left in the state
}

// short is a time in which a command is begun, and that a test can wait for.
func short() string {
	if os.Getenv("PLUMB_PROGRAM") != "" { // in an emulated machine
		return "15s"
	}
	return "4s"
}

// killed kills Plumb at random moments of a load: whatever it had done by then comes back.
func killed(t *testing.T, s subject, times int) {
	journal, was, midway := filepath.Join(t.TempDir(), "plumb"), s.state(), 0
	written := func(n int) func() bool { return there(filepath.Join(journal, fmt.Sprintf("change-%06d.journal", n))) }
	given := func() bool {
		return s.state() == was && len(processes(t, "\x00--heir\x00--yes\x00--state\x00"+journal)) == 0
	}
	c, flag := begin(t, s.of, journal, "10m")
	eventually(t, "it begins a journal", written(1))
	began := time.Now()
	eventually(t, "the command runs", there(flag))
	span := time.Since(began) // an emulated machine takes many times as long as others
	must(t, os.Remove(flag))
	_ = c.Wait()
	eventually(t, "all is as before", given)
	for n := range times {
		c, flag := begin(t, s.of, journal, "10m")
		eventually(t, "it begins a journal", written(n+2))
		wait := time.Duration(rand.Float64() * 1.5 * float64(span))
		if n > 0 {
			time.Sleep(wait)
		} else { // once for certain while something is set
			eventually(t, "something is set", func() bool { return s.state() != was })
		}
		must(t, c.Process.Kill())
		if s.state() != was {
			midway++
		}
		eventually(t, fmt.Sprintf("all is as before, killed after %v of some %v", wait, span), given)
		_ = os.Remove(flag)
		_ = c.Wait()
	}
	t.Logf("%d kills, %d of them while something was set", times, midway)
	if times > 5 && midway == 0 {
		t.Error("nothing was ever set")
	}
}

// kills is how often each thing is killed at a random moment.
func kills() int {
	if os.Getenv("PLUMB_REAL") != "" {
		return 100
	}
	return 6
}

// everyWay ends a load in every way that there is, and wants the state of before.
func everyWay(t *testing.T, s subject) {
	journal := filepath.Join(t.TempDir(), "plumb")
	was := s.state()
	back := func() bool { return s.state() == was }
	for _, way := range []struct {
		name, limit string
		end         func(t *testing.T, c *exec.Cmd, flag string)
	}{
		{"the command ends", "10m", func(t *testing.T, c *exec.Cmd, flag string) {
			must(t, os.Remove(flag))
			if err := c.Wait(); c.ProcessState.ExitCode() != 7 {
				t.Errorf("it did not end as the command: %v", err)
			}
			if !back() {
				t.Error("it had not given back when it ended")
			}
		}},
		{"Plumb is killed", "10m", func(t *testing.T, c *exec.Cmd, _ string) { must(t, c.Process.Kill()) }},
		{"Plumb is asked to end", "10m", func(t *testing.T, c *exec.Cmd, _ string) {
			must(t, c.Process.Signal(syscall.SIGTERM))
			_ = c.Wait()
			if !back() {
				t.Error("it had not given back when it ended")
			}
		}},
		{"the time is over", short(), func(t *testing.T, c *exec.Cmd, flag string) {
			eventually(t, "all is as before", back)
			if !there(flag)() {
				t.Error("the command was ended")
			}
		}},
		{"Plumb stands still when the time is over", short(), func(t *testing.T, c *exec.Cmd, _ string) {
			must(t, c.Process.Signal(syscall.SIGSTOP))
			eventually(t, "all is as before", back)
			must(t, c.Process.Signal(syscall.SIGCONT))
		}},
		{"nobody can keep it", "10m", func(t *testing.T, c *exec.Cmd, flag string) {
			_, errs := built.Run(t, 3, "confirm", "--state", journal)
			program.Reads(t, errs, "no change waits for a confirmation")
			must(t, os.Remove(flag))
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			c, flag := begin(t, s.of, journal, way.limit)
			eventually(t, "the command runs", there(flag))
			if back() && way.limit == "10m" {
				t.Error("nothing is set while it runs")
			}
			way.end(t, c, flag)
			eventually(t, "all is as before", back)
			_ = os.Remove(flag)
			_ = c.Wait()
		})
	}
	t.Run("somebody changes it meanwhile", func(t *testing.T) {
		c, flag := begin(t, s.of, journal, "10m")
		eventually(t, "the command runs", there(flag))
		s.other()
		must(t, os.Remove(flag))
		_ = c.Wait()
		if !strings.Contains(s.state(), s.kept) {
			t.Errorf("what somebody set was overwritten: %s", s.state())
		}
		s.reset()
	})
	t.Run("the machine goes down", func(t *testing.T) { stranded(t, s) })
	t.Run("killed at any moment", func(t *testing.T) { killed(t, s, kills()) })
}

// stranded kills Plumb and whoever waits for its end, as the end of a machine does: the next boot gives back, and this
// one does not before.
func stranded(t *testing.T, s subject) {
	journal := filepath.Join(t.TempDir(), "plumb")
	was := s.state()
	c, flag := begin(t, s.of, journal, "10m")
	eventually(t, "the command runs", there(flag))
	heirs := processes(t, "\x00--heir\x00--yes\x00--state\x00"+journal)
	if len(heirs) != 1 {
		t.Fatalf("%d processes wait for its end", len(heirs))
	}
	must(t, syscall.Kill(heirs[0], syscall.SIGKILL))
	must(t, c.Process.Kill())
	_ = c.Wait()
	built.Run(t, 0, "undo", "--stranded", "--yes", "--state", journal)
	if s.state() == was {
		t.Fatal("a loan of this boot was given back by what the next one runs")
	}
	boot := filepath.Join(t.TempDir(), "boot_id")
	must(t, os.WriteFile(boot, []byte("11111111-2222-3333-4444-555555555555\n"), 0o644))
	next := exec.Command("unshare", "-m", "sh", "-c", namespace.LetGo("")+`mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"`, "sh", boot,
		built.Path, "undo", "--stranded", "--yes", "--state", journal)
	if out, err := next.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s.state() != was {
		t.Errorf("after the next boot:\n%s\nin place of\n%s", s.state(), was)
	}
}

// begin starts a boost whose command makes a file and then waits until that is gone.
func begin(t *testing.T, of, state string, args ...string) (c *exec.Cmd, flag string) {
	t.Helper()
	flag = filepath.Join(t.TempDir(), "runs")
	argv := append([]string{"boost", of}, args...)
	argv = append(argv, "--yes", "--state", state, "--", "sh", "-c", `: >"$1"; while [ -e "$1" ]; do sleep 0.05; done; exit 7`, "sh", flag)
	c = exec.Command(built.Path, argv...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	errs, err := os.Create(filepath.Join(t.TempDir(), "errors")) // no pipe: what outlives Plumb would hold it open
	must(t, err)
	c.Stderr = errs
	must(t, c.Start())
	t.Cleanup(func() {
		_ = os.Remove(flag)
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if text, err := os.ReadFile(errs.Name()); t.Failed() {
			t.Log(string(text), err)
		}
	})
	return c, flag
}

// eventually waits for something to be so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

func there(name string) func() bool {
	return func() bool { _, err := os.Stat(name); return err == nil }
}

// processes are those whose command line holds a text.
func processes(t *testing.T, text string) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range lines {
		line, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && strings.HasPrefix(string(line), built.Path) && strings.Contains(string(line), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}
