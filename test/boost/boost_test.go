// Package boost_test runs plumb boost as a user does: the built program, real servers and pools.
package boost_test

import (
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

var (
	built   program.Program
	servers = sandbox.Shared{Start: start}
)

func TestMain(m *testing.M) { program.Main(m, &built, servers.Close) }

func start(b *sandbox.Box, engine string) (*sandbox.Server, error) {
	if engine == "mysql" {
		return b.MySQL(sandbox.MySQLOptions{Name: "my", Port: 54973, Settings: "log_bin\nserver_id=1\nsync_binlog=1"})
	}
	return b.Postgres(sandbox.PostgresOptions{Name: "pg", Port: 54974})
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

// zfs runs zfs or zpool and gives what it prints.
func zfs(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// source gives a dataset's value of sync and where it comes from.
func source(t *testing.T, dataset string) string {
	t.Helper()
	return zfs(t, "zfs", "get", "-H", "-o", "value,source", "sync", dataset)
}

// pool makes a pool with a dataset db, and db/a and db/own below it, of which the second has sync of its own.
func pool(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("makes a pool: run without -short")
	}
	box, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	make, _ := box.AnyZFS()
	p, err := make(256)
	must(t, err)
	for _, d := range []string{"db", "db/a", "db/own"} {
		zfs(t, "zfs", "create", p.Name+"/"+d)
	}
	zfs(t, "zfs", "set", "sync=standard", p.Name+"/db/own")
	return p.Name + "/db"
}

// begin starts a boost whose command makes a file and then waits until that is gone.
func begin(t *testing.T, of, state string, args ...string) (c *exec.Cmd, flag string) {
	t.Helper()
	flag = filepath.Join(t.TempDir(), "runs")
	argv := append([]string{"boost", of}, args...)
	argv = append(argv, "--yes", "--state", state, "--", "sh", "-c", `: >"$1"; while [ -e "$1" ]; do sleep 0.05; done; exit 7`, "sh", flag)
	c = exec.Command(built.Path, argv...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var errs strings.Builder
	c.Stderr = &errs
	must(t, c.Start())
	t.Cleanup(func() {
		_ = os.Remove(flag)
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			t.Log(errs.String())
		}
	})
	return c, flag
}

// eventually waits for something to be so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func there(name string) func() bool {
	return func() bool { _, err := os.Stat(name); return err == nil }
}

// inherited is sync of a dataset that has none of its own.
const inherited = "standard\tdefault"

func TestDataset(t *testing.T) {
	db, state := pool(t), filepath.Join(t.TempDir(), "plumb")
	t.Run("the command ends", func(t *testing.T) {
		c, flag := begin(t, db, state, "10m")
		eventually(t, "the command runs", there(flag))
		if got := source(t, db) + source(t, db+"/a") + source(t, db+"/own"); got != "disabled\tlocal"+"disabled\tinherited from "+db+"standard\tlocal" {
			t.Errorf("while it runs: %q", got)
		}
		must(t, os.Remove(flag))
		if err := c.Wait(); c.ProcessState.ExitCode() != 7 {
			t.Errorf("it did not end as the command: %v", err)
		}
		if got := source(t, db); got != inherited {
			t.Errorf("afterwards: %q", got)
		}
	})
	t.Run("Plumb is killed", func(t *testing.T) {
		c, flag := begin(t, db, state, "10m")
		eventually(t, "the command runs", there(flag))
		must(t, c.Process.Kill())
		eventually(t, "it is inherited again", func() bool { return source(t, db) == inherited })
	})
	t.Run("the time is over", func(t *testing.T) {
		c, flag := begin(t, db, state, "3s")
		eventually(t, "the command runs", there(flag))
		eventually(t, "it is inherited again", func() bool { return source(t, db) == inherited })
		if !there(flag)() {
			t.Error("the command was ended")
		}
		must(t, os.Remove(flag))
		_ = c.Wait()
	})
	t.Run("Plumb stands still when the time is over", func(t *testing.T) {
		c, flag := begin(t, db, state, "3s")
		eventually(t, "the command runs", there(flag))
		must(t, c.Process.Signal(syscall.SIGSTOP))
		eventually(t, "it is inherited again", func() bool { return source(t, db) == inherited })
		must(t, c.Process.Signal(syscall.SIGCONT))
		must(t, os.Remove(flag))
		_ = c.Wait()
	})
	t.Run("it was set there", func(t *testing.T) {
		zfs(t, "zfs", "set", "sync=standard", db)
		c, flag := begin(t, db, state, "10m")
		eventually(t, "the command runs", there(flag))
		must(t, c.Process.Kill())
		eventually(t, "it is as before", func() bool { return source(t, db) == "standard\tlocal" })
		zfs(t, "zfs", "inherit", "sync", db)
	})
	t.Run("somebody changes it meanwhile", func(t *testing.T) {
		c, flag := begin(t, db, state, "10m")
		eventually(t, "the command runs", there(flag))
		zfs(t, "zfs", "set", "sync=always", db)
		must(t, os.Remove(flag))
		_ = c.Wait()
		if got := source(t, db); got != "always\tlocal" {
			t.Errorf("what somebody set was overwritten: %q", got)
		}
		zfs(t, "zfs", "inherit", "sync", db)
	})
	t.Run("asked to end", func(t *testing.T) {
		c, flag := begin(t, db, state, "10m")
		eventually(t, "the command runs", there(flag))
		must(t, c.Process.Signal(syscall.SIGTERM))
		_ = c.Wait()
		if got := source(t, db); got != inherited {
			t.Errorf("afterwards: %q", got)
		}
	})
	t.Run("a loan of an earlier boot", func(t *testing.T) { stranded(t, db) })
	t.Run("nothing is kept", func(t *testing.T) {
		c, flag := begin(t, db, state, "10m")
		eventually(t, "the command runs", there(flag))
		_, errs := built.Run(t, 3, "confirm", "--state", state)
		program.Reads(t, errs, "no change waits for a confirmation")
		must(t, os.Remove(flag))
		_ = c.Wait()
	})
}

// stranded kills Plumb and whoever waits for its end, as the end of a machine does: the next boot gives back, and this
// one does not before.
func stranded(t *testing.T, db string) {
	state := filepath.Join(t.TempDir(), "plumb")
	c, flag := begin(t, db, state, "10m")
	eventually(t, "the command runs", there(flag))
	heirs := processes(t, "undo\x001\x00--heir\x00--yes\x00--state\x00"+state)
	if len(heirs) != 1 {
		t.Fatalf("%d processes wait for its end", len(heirs))
	}
	must(t, syscall.Kill(heirs[0], syscall.SIGKILL))
	must(t, c.Process.Kill())
	_ = c.Wait()
	built.Run(t, 0, "undo", "--stranded", "--yes", "--state", state)
	if got := source(t, db); got != "disabled\tlocal" {
		t.Fatalf("a loan of this boot was given back by the unit of the next: %q", got)
	}
	boot := filepath.Join(t.TempDir(), "boot_id")
	must(t, os.WriteFile(boot, []byte("11111111-2222-3333-4444-555555555555\n"), 0o644))
	next := exec.Command("unshare", "-m", "sh", "-c", `mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"`, "sh", boot,
		built.Path, "undo", "--stranded", "--yes", "--state", state)
	if out, err := next.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := source(t, db); got != inherited {
		t.Errorf("after the next boot: %q", got)
	}
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
