package reach

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// A socket at which somebody listens is taken from nobody. One that was removed is missed, and the one that came in its place is left.
func TestInletIsGone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "inlet/s")
	first, err := NewInlet(name, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.There(); err != nil {
		t.Error(err)
	}
	if in, err := NewInlet(name, os.Geteuid()); err == nil || !strings.Contains(err.Error(), "another process listens there") {
		t.Errorf("%v, %v", in, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := first.There(); !errors.Is(err, ErrGone) {
		t.Errorf("it was removed: %v", err)
	}
	second, err := NewInlet(name, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.There(); !errors.Is(err, ErrGone) {
		t.Errorf("another is in its place: %v", err)
	}
	if err := errors.Join(first.Close(), second.There()); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
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
