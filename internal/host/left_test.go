package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/await"
)

// envLeaves has the test that is run once more take a lock in a directory and run a command under it, until it is killed.
const envLeaves = "PLUMB_TEST_LEAVES"

// leaving is the command: it goes on until there is a file go, and starts two servers, one of which stays in its session and group.
const leaving = `cd "$1"
sleep 100 </dev/null >/dev/null 2>&1 &
echo $! >stays
setsid sleep 100 </dev/null >/dev/null 2>&1 &
echo $! >leaves
: >begun
i=0; while [ ! -e go ] && [ "$((i += 1))" -lt 3000 ]; do sleep 0.02; done
: >done`

// leaves is a Plumb that is killed while a command runs. In a pipe it waits for what it is never given.
func leaves(t *testing.T, told string) {
	way, dir, _ := strings.Cut(told, " ")
	h := doer(t)
	_, err := h.Lock(t.Context(), dir+"/lock")
	must(t, err)
	argv := []string{"sh", "-c", leaving, "sh", dir}
	if way == "run" {
		_, err = h.Run(t.Context(), argv...)
	} else {
		in, _ := io.Pipe()
		_, err = h.Pipe(t.Context(), Pipe{Argv: argv, In: in, Outlives: way == "outlives"})
	}
	t.Fatalf("it was to be killed: %v", err)
}

// left kills such a Plumb, and tells where its command runs.
func left(t *testing.T, way string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestALockWaitsForWhatAKilledPlumbLeft$")
	c.Env = append(os.Environ(), envLeaves+"="+way+" "+dir)
	must(t, c.Start())
	t.Cleanup(func() {
		must(t, os.WriteFile(dir+"/go", nil, 0o644))
		for _, name := range []string{"stays", "leaves"} {
			text, _ := os.ReadFile(dir + "/" + name)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				must(t, syscall.Kill(pid, syscall.SIGKILL)) // that it is there is what was tested
			}
		}
		appears(t, dir+"/done")
	})
	appears(t, dir+"/begun")
	must(t, c.Process.Kill())
	_ = c.Wait()
	return dir
}

func appears(t *testing.T, name string) {
	t.Helper()
	must(t, await.Until(context.WithoutCancel(t.Context()), time.Minute, func() (bool, error) { // also while the test is cleaned up
		_, err := os.Stat(name)
		return err == nil, err
	}))
}

// Nobody takes a lock while a command runs that a killed Plumb began under it. Servers that the command has started are none of it, nor is
// what was to outlive that Plumb.
func TestALockWaitsForWhatAKilledPlumbLeft(t *testing.T) {
	if told := os.Getenv(envLeaves); told != "" {
		leaves(t, told)
	}
	for _, way := range []string{"run", "pipe"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			dir, h := left(t, way), doer(t)
			_, err := h.Lock(t.Context(), dir+"/lock")
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), " (sh) is still running; a Plumb that was killed started it") {
				t.Fatalf("while it runs: %v", err)
			}
			if said := HeldBy(err, "another Plumb", "wait"); !errors.Is(said, ErrLocked) || !strings.HasPrefix(said.Error(), "process ") {
				t.Errorf("it is said to be %v", said)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := h.Lock(over, dir+"/lock"); !errors.Is(err, ErrLocked) {
				t.Errorf("who is told to stop: %v", err)
			}
			other, err := h.Lock(over, dir+"/other")
			must(t, err)
			other()
			must(t, os.WriteFile(dir+"/go", nil, 0o644))
			unlock, err := LockWithin(t.Context(), h, dir+"/lock", time.Minute)
			must(t, err)
			defer unlock()
			if _, err := os.Stat(dir + "/done"); err != nil {
				t.Errorf("it was taken before: %v", err)
			}
		})
	}
	t.Run("outlives", func(t *testing.T) {
		t.Parallel()
		dir, h := left(t, "outlives"), doer(t)
		unlock, err := h.Lock(t.Context(), dir+"/lock")
		must(t, err)
		unlock()
	})
}

// A command of a Plumb that lives is that one's concern: it has given the lock back.
func TestALockDoesNotWaitForTheLiving(t *testing.T) {
	dir, h := t.TempDir(), doer(t)
	unlock, err := h.Lock(t.Context(), dir+"/lock")
	must(t, err)
	ran := make(chan error, 1)
	go func() {
		_, err := h.Run(t.Context(), "sh", "-c", `cd "$1"; : >begun; while [ ! -e go ]; do sleep 0.02; done; echo "$`+underLocks+`" >under`, "sh", dir)
		ran <- err
	}()
	appears(t, dir+"/begun")
	unlock()
	unlock, err = doer(t).Lock(t.Context(), dir+"/lock")
	must(t, err)
	unlock()
	must(t, os.WriteFile(dir+"/go", nil, 0o644))
	must(t, <-ran)
	under, err := os.ReadFile(dir + "/under")
	if f := strings.Fields(string(under)); err != nil || len(f) != 3 || f[0] != strconv.Itoa(os.Getpid()) {
		t.Errorf("it ran under %q, %v", under, err)
	}
	_, err = h.Run(t.Context(), "sh", "-c", `[ -z "$`+underLocks+`" ]`)
	must(t, err)
}

func TestLeft(t *testing.T) {
	dead, lives := func(string) bool { return false }, func(string) bool { return true }
	under := "A=b\x00" + underLocks + "=7 3 1:2 1:5\x00"
	for name, c := range map[string]struct {
		command
		lock  string
		alive func(string) bool
		want  error
	}{
		"adopted":                       {command{parent: "1", session: "3", environ: under, line: "x"}, "1:5", lives, ErrLocked},
		"of one that lives":             {command{parent: "7", session: "3", environ: under, line: "x"}, "1:5", lives, nil},
		"of one that is ending":         {command{parent: "7", session: "3", environ: under, line: "x"}, "1:5", dead, ErrLocked},
		"under another lock":            {command{parent: "1", session: "3", environ: under, line: "x"}, "1:52", lives, nil},
		"in another session":            {command{parent: "1", session: "4", environ: under, line: "x"}, "1:5", lives, nil},
		"under none":                    {command{parent: "1", session: "3", environ: "A=b\x00", line: "x"}, "1:5", lives, nil},
		"with an environment of others": {command{parent: "1", session: "3", environ: underLocks + "=\x00", line: "x"}, "1:5", lives, nil},
		"without one":                   {command{parent: "1", session: "3", line: "x"}, "1:5", lives, nil},
		"of a service":                  {command{parent: "1", session: "3", user: 27, environ: under, line: "x"}, "1:5", lives, ErrLocked},
		"of a person":                   {command{parent: "1", session: "3", user: 1000000, environ: under, line: "x"}, "1:5", lives, nil},
		"just being started":            {command{parent: "1", session: "3"}, "1:5", lives, errBegins},
	} {
		if err := c.left(c.lock, c.alive); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// Each command is one that can be left, and this test, which leads no group of its own, is none unless it was started so.
func TestCommandOf(t *testing.T) {
	if group := unix.Getpgrp(); group != os.Getpid() {
		if _, is := commandOf(strconv.Itoa(os.Getpid())); is {
			t.Error("this test is taken for a command")
		}
	}
	for _, none := range []string{"self", "net", "1073741824", ""} {
		if c, is := commandOf(none); is {
			t.Errorf("%q is %+v", none, c)
		}
	}
	session, err := unix.Getsid(0)
	must(t, err)
	c := exec.Command("sleep", "100")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, c.Start())
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	var got command
	var is bool
	_ = await.Until(t.Context(), time.Minute, func() (bool, error) { // a program that was just begun has no command line yet
		got, is = commandOf(strconv.Itoa(c.Process.Pid))
		return got.line != "", nil
	})
	if want := fmt.Sprint(session); !is || got.parent != strconv.Itoa(os.Getpid()) || got.session != want || !strings.HasPrefix(got.line, "sleep") {
		t.Errorf("%v %+v, want one of session %s", is, got, want)
	}
}
