package reach

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A server of another user comes to the socket, also where root has a umask that lets nobody through.
func TestInletIsReached(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	name := filepath.Join(t.TempDir(), "inlet/s")
	in, err := NewInlet(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for at, want := range map[string]os.FileMode{filepath.Dir(name): 0o755, name: 0o666} {
		if st, err := os.Stat(at); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", at, st.Mode(), err)
		}
	}
}
