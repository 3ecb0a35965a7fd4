package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func ended(t *testing.T, r Running) error {
	t.Helper()
	select {
	case <-r.Done():
		return r.Err()
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return nil
	}
}

func TestStartTellsHowItEnded(t *testing.T) {
	h, log := doer(t), filepath.Join(t.TempDir(), "log")
	for code := range 2 {
		r, err := h.Start(t.Context(), Process{Argv: []string{"sh", "-c", fmt.Sprintf("echo $A $PWD; exit %d", code)}, Env: []string{"A=b"}, Dir: "/usr", Log: log})
		must(t, err)
		if err := ended(t, r); (err != nil) != (code != 0) {
			t.Errorf("exit code %d: %v", code, err)
		}
		must(t, r.Signal(Kill)) // has gone
	}
	info, err := os.Stat(log)
	must(t, err)
	if got := content(t, log); got != "b /usr\nb /usr\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v", got, info.Mode())
	}
}

// A signal reaches all that a program started, and what outlives its leader
// is killed.
func TestStartEndsTheWholeGroup(t *testing.T) {
	for _, how := range []string{"signal", "by itself"} {
		h, log := doer(t), filepath.Join(t.TempDir(), "log")
		script := "sleep 1000 & echo $!; wait"
		if how == "by itself" {
			script = "sleep 1000 & echo $!"
		}
		r, err := h.Start(t.Context(), Process{Argv: []string{"sh", "-c", script}, Log: log})
		must(t, err)
		var child int
		for range 3000 {
			if _, err := fmt.Sscan(content(t, log), &child); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if how == "signal" {
			must(t, r.Signal(Terminate))
		}
		_ = ended(t, r) // killed or not, it says so
		for i := 0; alive(child); i++ {
			if i == 3000 {
				t.Fatalf("%s: the child lives on", how)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// alive tells whether a process runs; a zombie that nobody waits for does not.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestStartRefuses(t *testing.T) {
	h, dir := doer(t), t.TempDir()
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	must(t, os.Symlink("elsewhere", link))
	must(t, syscall.Mkfifo(pipe, 0o600))
	for name, p := range map[string]Process{
		"nothing":   {},
		"missing":   {Argv: []string{"no-such-program"}},
		"a link":    {Argv: []string{"true"}, Log: link},
		"a pipe":    {Argv: []string{"true"}, Log: pipe},
		"no group":  {Argv: []string{"true"}, Groups: []string{dir}},
		"no folder": {Argv: []string{"true"}, Dir: filepath.Join(dir, "missing")},
	} {
		if _, err := h.Start(t.Context(), p); err == nil {
			t.Errorf("%s: it was started", name)
		}
	}
	if _, err := h.Start(t.Context(), Process{Argv: []string{"no-such-program", "-c", "first line\nsecond line"}}); !errors.Is(err, ErrNoCommand) || !strings.Contains(err.Error(), "first line …: ") {
		t.Errorf("a missing program: %v", err)
	}
}

// As another user a program has that user's log and none of our groups.
func TestStartAsAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	h, log := doer(t), filepath.Join(t.TempDir(), "log")
	r, err := h.Start(t.Context(), Process{Argv: []string{"sh", "-c", "id -u; id -G; grep Seccomp: /proc/self/status >&2"}, UID: 65534, GID: 65533, Log: log})
	must(t, err)
	must(t, ended(t, r))
	info, err := os.Stat(log)
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); !strings.HasPrefix(content(t, log), "65534\n65533\n") || st.Uid != 65534 || st.Gid != 65533 {
		t.Errorf("%q, of %d:%d", content(t, log), st.Uid, st.Gid)
	}
}

// A program is in its groups from the first instruction on, and no thread of
// ours stays there. In the directory "unified" a machine of version 1 has a
// tree of version 2.
func TestStartInGroups(t *testing.T) {
	h, tried := doer(t), 0
	var all []string
	for _, at := range []string{"memory", "cpuacct", "unified", "."} {
		dir := filepath.Join("/sys/fs/cgroup", at, fmt.Sprintf("plumb-start-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		defer os.Remove(dir)
		if _, err := version2(dir); err == nil {
			all = append(all, dir)
		}
	}
	for n := len(all); n > 0; n-- {
		log := filepath.Join(t.TempDir(), "log")
		for range 10 {
			r, err := h.Start(t.Context(), Process{Argv: []string{"grep", "-c", filepath.Base(all[0]), "/proc/self/cgroup"}, Groups: all[:n], Log: log})
			must(t, err)
			must(t, ended(t, r))
			tried++
		}
		if got := content(t, log); got != strings.Repeat(fmt.Sprintln(n), 10) {
			t.Fatalf("of the groups %q it is in %q", all[:n], got)
		}
	}
	for _, dir := range all {
		for i := 0; os.Remove(dir) != nil; i++ {
			if i == 3000 {
				t.Fatalf("a thread of ours stayed in %s: %s", dir, content(t, filepath.Join(dir, "cgroup.procs")))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if tried == 0 {
		t.Skip("no control group can be made here")
	}
}
