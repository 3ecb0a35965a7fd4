package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Root makes nothing where another user can put a link in its place.
func TestOnlyOurs(t *testing.T) {
	dir, _ := theirs(t)
	within, link := filepath.Join(dir, "roots"), filepath.Join(filepath.Dir(dir), "link")
	must(t, os.Mkdir(within, 0o755))
	must(t, os.Symlink(within, link))
	open := filepath.Join(filepath.Dir(dir), "open")
	must(t, os.Mkdir(open, 0o755))
	must(t, os.Chmod(open, 0o775))
	stranger := filepath.Join(filepath.Dir(dir), "stranger") // leads to what is ours alone, until he makes it lead elsewhere
	must(t, os.Symlink(t.TempDir(), stranger))
	must(t, os.Lchown(stranger, 65534, 65534))
	for _, name := range []string{dir, within, link, open, stranger, filepath.Join(open, "none")} {
		if _, err := OnlyOurs(name); !errors.Is(err, ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{filepath.Dir(dir), "/tmp", "/"} {
		if got, err := OnlyOurs(name); err != nil || got == "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := OnlyOurs(filepath.Join(filepath.Dir(dir), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}
