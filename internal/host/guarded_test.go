package host

import (
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
		"a link to itself": {func(dir string) string { os.Symlink("me", dir+"/me"); return dir + "/me" }, "too many levels"},
		"a journal of somebody else": {func(dir string) string {
			os.WriteFile(dir+"/change-000001.journal", nil, 0o600)
			os.Chown(dir+"/change-000001.journal", nobody, 0)
			return dir
		}, "belongs to user 65534"},
		"a journal that is a link": {func(dir string) string { os.Symlink("/tmp/x", dir+"/change-000001.journal"); return dir }, "is no regular file"},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		must(t, os.Mkdir(dir, 0o755))
		err := Guarded(c.prepare(dir), "change-*.journal")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
