package observe

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// What a server with mounts of its own calls a path is ours where it is the same file.
func TestSharedPaths(t *testing.T) {
	m := hosttest.Map{Stats: map[string]host.Stat{
		"/etc":                        {DevMajor: 8, Inode: 2},
		"/etc/my.cnf":                 {DevMajor: 8, Inode: 12},
		"/tmp":                        {DevMajor: 8, Inode: 3},
		"/tmp/a.sock":                 {DevMajor: 8, Inode: 13},
		"/proc/7/root/etc":            {DevMajor: 8, Inode: 2},
		"/proc/7/root/etc/my.cnf":     {DevMajor: 8, Inode: 12},
		"/proc/7/root/tmp":            {DevMinor: 31, Inode: 1},
		"/proc/7/root/tmp/a.sock":     {DevMinor: 31, Inode: 13},
		"/proc/7/root/tmp/other.sock": {DevMinor: 31, Inode: 14},
	}}
	for _, c := range []struct {
		facts      map[string]bool
		name, want string
	}{
		{nil, "/tmp/a.sock", "/tmp/a.sock"},
		{map[string]bool{"own_mounts": true, "own_root": false}, "/etc/my.cnf", "/etc/my.cnf"},
		{map[string]bool{"own_mounts": true, "own_root": false}, "/etc/new.cnf", "/etc/new.cnf"}, // its directory is ours
		{map[string]bool{"own_mounts": true, "own_root": false}, "/tmp/a.sock", "/proc/7/root/tmp/a.sock"},
		{map[string]bool{"own_mounts": true, "own_root": false}, "/tmp/other.sock", "/proc/7/root/tmp/other.sock"},
		{map[string]bool{"own_mounts": true, "own_root": false}, "/tmp/new.sock", "/proc/7/root/tmp/new.sock"},
		{map[string]bool{"own_mounts": true, "own_root": true}, "/etc/my.cnf", "/proc/7/root/etc/my.cnf"},
		{map[string]bool{"own_mounts": true}, "/etc/my.cnf", "/proc/7/root/etc/my.cnf"},
		{map[string]bool{"own_mounts": false, "own_root": true}, "/etc/my.cnf", "/proc/7/root/etc/my.cnf"},
		{map[string]bool{"own_mounts": true, "own_root": false}, "relative", "relative"},
	} {
		var obs stack.Observation
		p := obs.New("process", "7")
		p.Set("engine", stack.Text("mysql"), "test")
		for fact, on := range c.facts {
			p.Set(fact, stack.Bool(on), "test")
		}
		s := &stack.Stack{}
		s.Add("process", obs)
		if got := Locals(s, "mysql")[0].Path(t.Context(), m, c.name); got != c.want {
			t.Errorf("%v: %s is %s, want %s", c.facts, c.name, got, c.want)
		}
	}
}

// TestLoginHint: whoever is root already is not told to become it, and root of this host is nothing to a server of another.
func TestLoginHint(t *testing.T) {
	user, root := hosttest.Map{}, hosttest.Map{Who: host.About{Root: true}}
	for _, c := range []struct {
		h      host.Reader
		remote bool
		want   string
	}{
		{user, false, "run as root, or give a login with --dsn"},
		{user, true, "give a login with --dsn"},
		{root, false, "give a login with --dsn"},
	} {
		if got := LoginHint(c.h, c.remote); got != c.want {
			t.Errorf("remote %v: %q, want %q", c.remote, got, c.want)
		}
	}
	if err := filepath.WalkDir("..", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "run as root, or give a login") {
			t.Errorf("%s tells everybody to run as root: LoginHint knows to whom that is of use", name)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
