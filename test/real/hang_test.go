package real

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/stack"
)

// fakeZFS runs something that passes for the zfs-fuse daemon, and puts scripts
// in place of zpool and zfs. It gives the directory to put first in PATH.
func fakeZFS(t *testing.T, script string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes: run without -short")
	}
	if found, _ := filepath.Glob("/usr/*bin/zfs-fuse"); len(found) == 0 {
		t.Skip("no zfs-fuse (apt-get install zfs-fuse)")
	}
	dir := t.TempDir()
	sleep, err := os.ReadFile("/bin/sleep")
	check(t, err)
	check(t, os.WriteFile(dir+"/zfs-fuse", sleep, 0o755))
	for _, name := range []string{"zpool", "zfs"} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	daemon := exec.Command(dir+"/zfs-fuse", "600")
	check(t, daemon.Start())
	t.Cleanup(func() { daemon.Process.Kill(); daemon.Wait() })
	return dir
}

func withPath(dir string) func(*exec.Cmd) {
	return func(c *exec.Cmd) { c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")) }
}

// left lists the processes whose command line holds a mark.
func left(mark string) []string {
	var out []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), mark) {
			out = append(out, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return out
}

// unhung tells how long plumb takes where nothing hangs, as busy as this machine is just now.
func unhung(t *testing.T) time.Duration {
	t.Helper()
	return plumbIn(t, withPath(fakeZFS(t, "exit 1")), "stack", "--json").took
}

// A zpool that never answers costs its own facts and nothing else, and it is
// not left running.
func TestZpoolHangs(t *testing.T) {
	for name, script := range map[string]string{
		"sleeps":           "exec sleep 3017.1",
		"ignores SIGTERM":  "trap '' TERM INT HUP; while :; do sleep 3017.1; done",
		"forks":            "sleep 3017.1 & sleep 3017.1 & wait",
		"leaves a child":   "sleep 25 & exit 0",
		"answers for ever": "while :; do echo tank; done",
	} {
		t.Run(name, func(t *testing.T) {
			dir := fakeZFS(t, script)
			usual := unhung(t)
			r := plumbIn(t, withPath(dir), "stack", "--json", "--timeout", "6s")
			if r.took > 8*time.Second+3*usual {
				t.Errorf("took %v with --timeout 6s, and usually %v", r.took, usual)
			}
			if r.code != 0 {
				t.Errorf("exit %d: %s", r.code, r.err)
			}
			if r.memory > 200<<20 {
				t.Errorf("took %d MB", r.memory>>20)
			}
			s := r.seen(t)
			if s.Host() == nil || s.Host().Text("kernel") == "" {
				t.Error("the rest of the host was not read")
			}
			if name != "leaves a child" && !slices.ContainsFunc(s.Gaps, func(g stack.Gap) bool {
				return g.Probe == "zfs" && (strings.Contains(g.Why, "deadline") || strings.Contains(g.Why, "limit"))
			}) {
				t.Errorf("nothing says that zpool was not seen: %v", s.Gaps)
			}
			if name == "leaves a child" { // a daemon of the command's own making may live
				return
			}
			if l := left("3017.1"); len(l) > 0 {
				t.Errorf("left running: %v", l)
			}
		})
	}
}

// The text of a check that a command held up says which, and what to do.
func TestCheckSaysWhatItCouldNotSee(t *testing.T) {
	dir, usual := fakeZFS(t, "exec sleep 3017.2"), unhung(t)
	r := plumbIn(t, withPath(dir), "check", "--timeout", "200ms")
	contains(t, r.out, "zpool", "no answer in time", "--timeout 2m")
	if r.code != 0 || r.took > 3*time.Second+3*usual {
		t.Errorf("exit %d after %v, and usually it takes %v", r.code, r.took, usual)
	}
}

// What is no answer of zpool gives no facts, and no guess.
func TestZpoolPrintsGarbage(t *testing.T) {
	for name, script := range map[string]string{
		"bytes":   "head -c 300000 /dev/urandom",
		"nothing": "exit 0",
		"fails":   "echo 'internal error: out of memory' >&2; exit 1",
		"html":    "echo '<html><body>502 Bad Gateway</body></html>'",
		"tabs":    "printf '\\t\\t\\t\\n-\\t-\\t-\\t-\\n'",
		"brace":   "printf '{\"output_version\":{},\"pools\":{\"x\":[1,2,{\"vdevs\":3}]}}'",
		"large":   "head -c 100000000 /dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			dir, usual := fakeZFS(t, script), unhung(t)
			r := plumbIn(t, withPath(dir), "stack", "--json", "--timeout", "20s")
			s := r.seen(t)
			if r.code != 0 || r.took > 22*time.Second+3*usual || r.memory > 200<<20 {
				t.Errorf("exit %d after %v with %d MB", r.code, r.took, r.memory>>20)
			}
			for _, p := range s.OfKind("pool") {
				if len(p.Facts) > 0 && name != "bytes" {
					t.Errorf("a pool was made of it: %s %v", p.Ref, p.Facts)
				}
			}
			if name == "large" && !slices.ContainsFunc(s.Gaps, func(g stack.Gap) bool { return strings.Contains(g.Why, "limit") }) {
				t.Error("nothing says that the answer was cut")
			}
			if text := plumbIn(t, withPath(dir), "check", "--timeout", "20s"); strings.ContainsAny(text.out, "\x00\x1b\x07") {
				t.Error("control characters of the answer reach the terminal")
			}
		})
	}
}
