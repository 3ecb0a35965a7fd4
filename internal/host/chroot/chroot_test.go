package chroot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

func TestTheRootIsTheMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.conf")
	must(t, os.WriteFile(file, nil, 0o644))
	found, err := New(hosttest.LiveDoer(t), "/").Glob(t.Context(), file)
	if err != nil || len(found) != 1 || found[0] != file {
		t.Errorf("glob: %v, %v", found, err)
	}
}

// Nothing in an image leads out of it, neither absolute links nor ones with
// many dots.
func TestLinksStayInside(t *testing.T) {
	out, dir := t.TempDir(), filepath.Join(t.TempDir(), "image[1]")
	must(t, os.MkdirAll(filepath.Join(dir, "etc"), 0o755))
	must(t, os.WriteFile(filepath.Join(out, "victim"), []byte("untouched"), 0o644))
	must(t, os.Symlink(filepath.Join(out, "victim"), filepath.Join(dir, "etc", "absolute")))
	must(t, os.Symlink(strings.Repeat("../", 20)+out+"/victim", filepath.Join(dir, "etc", "dots")))
	must(t, os.Symlink(out, filepath.Join(dir, "etc", "dir")))
	u := New(hosttest.LiveDoer(t), dir)
	for _, name := range []string{"/etc/absolute", "/etc/dots", "/etc/dir/victim", "/etc/../../victim"} {
		if err := u.Replace(t.Context(), name, []byte("inside"), 0o644); err != nil {
			t.Logf("%s: %v", name, err) // a dangling link may be refused
		}
	}
	if got := content(t, filepath.Join(out, "victim")); got != "untouched" {
		t.Errorf("outside it now says %q", got)
	}
	must(t, u.Replace(t.Context(), "/etc/sysctl.d/99.conf", []byte("x"), 0o644))
	if got := content(t, filepath.Join(dir, "etc/sysctl.d/99.conf")); got != "x" {
		t.Errorf("inside it says %q", got)
	}
	found, err := u.Glob(t.Context(), "/etc/sysctl.d/*.conf")
	if err != nil || len(found) != 1 || found[0] != "/etc/sysctl.d/99.conf" {
		t.Errorf("glob: %v, %v", found, err)
	}
	if st, err := u.Stat(t.Context(), "/etc/sysctl.d/99.conf"); err != nil || st.Size != 1 {
		t.Errorf("stat: %+v, %v", st, err)
	}
}
