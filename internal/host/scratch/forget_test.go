package scratch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestForgetChangesNothing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a", "b")
	for _, err := range []error{
		os.Mkdir(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("text"), 0o600),
		os.Symlink("/dev/zero", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), Forget(dir),
	} {
		ok(t, err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if err := Forget(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing directory was dropped")
	}
}
