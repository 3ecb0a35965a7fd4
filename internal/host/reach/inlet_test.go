package reach

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A server of another user comes to the socket, also where root has a umask that lets nobody through.
func TestInletIsReached(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	name := filepath.Join(t.TempDir(), "inlet/s")
	in, err := NewInlet(name, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for at, want := range map[string]os.FileMode{filepath.Dir(name): 0o755, name: 0o600} {
		if st, err := os.Stat(at); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", at, st.Mode(), err)
		}
	}
}

// Nobody but the server's user and root comes to the socket, or could keep the server from it.
func TestInletIsOfOneUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be two users")
	}
	const server, another = 65533, 65534
	dir, err := os.MkdirTemp("", "inlet")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "s")
	in, err := NewInlet(name, server)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for uid, want := range map[int]error{server: nil, 0: nil, another: syscall.EACCES} {
		err := asUser(uid, func() error {
			s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			return cmp.Or(syscall.Connect(s, &syscall.SockaddrUnix{Name: name}), syscall.Close(s))
		})
		if !errors.Is(err, want) {
			t.Errorf("user %d: %v", uid, err)
		}
	}
}
