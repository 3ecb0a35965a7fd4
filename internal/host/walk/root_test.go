package walk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestResolveStaysInside(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "etc"), 0o755), os.WriteFile(filepath.Join(dir, "etc/real.cnf"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"abs": "/etc/real.cnf", "up": "../../../../etc/real.cnf", "chain": "/etc/abs", "loop": "/etc/loop"} {
		if err := os.Symlink(to, filepath.Join(dir, "etc", link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/real.cnf", "/etc/abs", "etc/up", "etc/chain", "etc/../etc/./abs", "../../etc/abs"} {
		if got, err := Resolve(dir, dir, name, true); err != nil || got != dir+"/etc/real.cnf" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, err := Resolve(dir, dir, "etc/chain", false); err != nil || got != dir+"/etc/chain" {
		t.Errorf("the link itself: %s, %v", got, err)
	}
	if _, err := Resolve(dir, dir, "etc/loop", true); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("loop: %v", err)
	}
}

func TestSplitRoot(t *testing.T) {
	for name, want := range map[string][3]string{
		"/etc/my.cnf":             {"", "", "/etc/my.cnf"},
		"/proc/7/root/etc/my.cnf": {"/proc/7/root", "/proc/7/root", "etc/my.cnf"},
		"/proc/7/cwd/my.cnf":      {"/proc/7/cwd", "/proc/7/root", "my.cnf"},
		"/proc/self/root":         {"/proc/self/root", "/proc/self/root", ""},
		"/proc/7/status":          {"", "", "/proc/7/status"},
		"/proc/x/root/etc":        {"", "", "/proc/x/root/etc"},
	} {
		start, root, rest := SplitRoot(name)
		if got := [3]string{start, root, rest}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
