package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What others could have written, or put in its place, is not guarded.
func TestGuarded(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files to somebody else")
	}
	const nobody = 65534
	for name, c := range map[string]struct {
		prepare func(dir string) string // gives the directory to ask about
		want    string                  // "" when it is guarded
	}{
		"its own":             {func(dir string) string { return dir }, ""},
		"not there yet":       {func(dir string) string { return dir + "/a/b" }, ""},
		"a link of its own":   {func(dir string) string { os.Symlink(dir, dir+"/link"); return dir + "/link" }, ""},
		"of somebody else":    {func(dir string) string { os.Chown(dir, nobody, 0); return dir }, "belongs to user 65534"},
		"below somebody else": {func(dir string) string { os.Mkdir(dir+"/a", 0o755); os.Chown(dir, nobody, 0); return dir + "/a" }, "belongs to user 65534"},
		"written by all":      {func(dir string) string { os.Chmod(dir, 0o777); return dir }, "can be written to by others (mode 0777)"},
		"shared like /tmp":    {func(dir string) string { os.Chmod(dir, 0o777|os.ModeSticky); return dir }, "can be written to by others"},
		"below such a one": {func(dir string) string {
			os.Mkdir(dir+"/a", 0o700)
			os.Chmod(dir, 0o777|os.ModeSticky)
			return dir + "/a"
		}, ""},
		"a link of somebody else": {func(dir string) string {
			os.Mkdir(dir+"/a", 0o700)
			os.Symlink(dir+"/a", dir+"/link")
			os.Lchown(dir+"/link", nobody, 0)
			return dir + "/link"
		}, "belongs to user 65534"},
		"a link to somebody else's": {func(dir string) string {
			os.Mkdir(dir+"/a", 0o700)
			os.Chown(dir+"/a", nobody, 0)
			os.Symlink("a", dir+"/link")
			return dir + "/link"
		}, "belongs to user 65534"},
		"a link to itself":       {func(dir string) string { os.Symlink("me", dir+"/me"); return dir + "/me" }, "too many levels"},
		"a link to itself above": {func(dir string) string { os.Symlink("above/x", dir+"/above"); return dir + "/above/y" }, "too many levels"},
		// A link's .. is the directory above what the one before it leads to.
		"a link that goes back": {func(dir string) string {
			os.MkdirAll(dir+"/far/b", 0o700)
			os.Mkdir(dir+"/near", 0o700)
			os.Mkdir(dir+"/far/theirs", 0o700)
			os.Mkdir(dir+"/theirs", 0o700)
			os.Chown(dir+"/far/theirs", nobody, 0)
			os.Symlink(dir+"/far/b", dir+"/near/b")
			os.Symlink("b/../theirs", dir+"/near/link")
			return dir + "/near/link"
		}, "far/theirs belongs to user 65534"},
		"a journal of somebody else": {func(dir string) string {
			os.WriteFile(dir+"/change-000001.journal", nil, 0o600)
			os.Chown(dir+"/change-000001.journal", nobody, 0)
			return dir
		}, "belongs to user 65534"},
		"a journal that is a link": {func(dir string) string { os.Symlink("/tmp/x", dir+"/change-000001.journal"); return dir }, "is not a regular file"},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		must(t, os.Mkdir(dir, 0o755))
		err := Guarded(c.prepare(dir), "change-*.journal")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is missing is made where nobody else can rename it, and nothing is made elsewhere.
func TestMakeGuarded(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files to somebody else")
	}
	above := t.TempDir()
	must(t, os.Symlink("real/deep", filepath.Join(above, "link")))
	for _, c := range [][2]string{{"a/b", "a/b"}, {"a", "a"}, {"link", "real/deep"}, {"link/more", "real/deep/more"}} {
		got, err := MakeGuarded(filepath.Join(above, c[0]))
		if err != nil || got != filepath.Join(above, c[1]) {
			t.Errorf("%s: %s, %v", c[0], got, err)
		}
	}
	for name, mode := range map[string]os.FileMode{"a": 0o755, "a/b": 0o700, "real": 0o755, "real/deep/more": 0o700} {
		if st, err := os.Lstat(filepath.Join(above, name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	for name, prepare := range map[string]func(dir string) error{
		"of somebody else":         func(dir string) error { return os.Chown(dir, 65534, 0) },
		"that everybody writes to": func(dir string) error { return os.Chmod(dir, 0o777) },
		"with a file in its place": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
		"with a stranger's link": func(dir string) error {
			return errors.Join(os.Symlink(t.TempDir(), filepath.Join(dir, "x")), os.Lchown(filepath.Join(dir, "x"), 65534, 0))
		},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		must(t, os.Mkdir(dir, 0o755))
		must(t, prepare(dir))
		before, err := os.ReadDir(dir)
		must(t, err)
		for _, below := range []string{"x", "x/y"} {
			if _, err := MakeGuarded(filepath.Join(dir, below)); err == nil {
				t.Errorf("%s is made in a directory %s", below, name)
			}
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("a directory %s: %v was made, %v", name, after, err)
		}
	}
	shared := filepath.Join(t.TempDir(), "shared") // like /tmp
	must(t, os.Mkdir(shared, 0o755))
	must(t, os.Chmod(shared, 0o777|os.ModeSticky))
	if _, err := MakeGuarded(filepath.Join(shared, "ours")); err != nil {
		t.Error(err)
	}
	must(t, os.Mkdir(filepath.Join(shared, "theirs"), 0o700))
	must(t, os.Chown(filepath.Join(shared, "theirs"), 65534, 0))
	if _, err := MakeGuarded(filepath.Join(shared, "theirs")); !errors.Is(err, ErrDenied) {
		t.Errorf("somebody was faster: %v", err)
	}
}

// A group that is a user's own is nobody else, and root's are never so.
func TestOwnGroup(t *testing.T) {
	for _, c := range []struct {
		owner, group uint32
		us           int
		want         fs.FileMode
	}{
		{1000, 1000, 1000, 0o002},
		{1000, 100, 1000, 0o022},
		{0, 1000, 1000, 0o022},
		{0, 0, 0, 0o022},
		{0, 1000, 0, 0o022},
	} {
		if got := othersRights(c.owner, c.group, c.us); got != c.want {
			t.Errorf("%+v: %04o", c, got)
		}
	}
}
