package reach

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDialUnixAsShowsTheServerThatUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir, err := os.MkdirTemp("", "plumb")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Chmod(socket, 0o777); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, uid := range []int{65534, 0, 1234, 65534} {
		conn, err := dialUnixAs(ctx, uid, socket)
		if err != nil {
			t.Fatal(err)
		}
		if got := peerUID(t, listener); got != uint32(uid) {
			t.Errorf("the server sees user %d, want %d", got, uid)
		}
		conn.Close()
		if os.Geteuid() != 0 {
			t.Fatal("this process is no longer root")
		}
	}
	if _, err := dialUnixAs(ctx, 65534, filepath.Join(dir, "none")); err == nil {
		t.Error("no socket: no error")
	}
	if err := os.Chmod(socket, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := dialUnixAs(ctx, 65534, socket); err == nil {
		t.Error("a socket closed to that user: no error")
	}
}

// peerUID accepts one connection and asks the kernel who made it.
func peerUID(t *testing.T, listener net.Listener) uint32 {
	t.Helper()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return cred.Uid
}
