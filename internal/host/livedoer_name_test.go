package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMakeDir(t *testing.T) {
	h, dir := doer(t), filepath.Join(t.TempDir(), "made")
	began := time.Now().Add(-time.Minute)
	must(t, h.MakeDir(t.Context(), dir, 0o2750, os.Getuid(), os.Getgid()))
	if err := h.MakeDir(t.Context(), dir, 0o755, os.Getuid(), os.Getgid()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	st, err := h.Stat(t.Context(), dir)
	if err != nil || st.Mode.Perm() != 0o750 || !st.Born.IsZero() && st.Born.Before(began) {
		t.Errorf("%+v, %v", st, err)
	}
	if err := h.MakeDir(t.Context(), dir+"/a/b", 0o755, os.Getuid(), os.Getgid()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below what is not there: %v", err)
	}
}

// A name that is taken is never given to another, not even an empty directory's.
func TestRenameReplacesNothing(t *testing.T) {
	h, dir := doer(t), t.TempDir()
	for _, name := range []string{"from", "empty"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	write(t, filepath.Join(dir, "file"), "x")
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	for _, to := range []string{"empty", "file", "link"} {
		if err := h.Rename(t.Context(), filepath.Join(dir, "from"), filepath.Join(dir, to)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	must(t, h.Rename(t.Context(), filepath.Join(dir, "from"), filepath.Join(dir, "to")))
	if _, err := os.Lstat(filepath.Join(dir, "to")); err != nil {
		t.Error(err)
	}
	if err := h.Rename(t.Context(), filepath.Join(dir, "from"), filepath.Join(dir, "again")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of what is not there: %v", err)
	}
}
