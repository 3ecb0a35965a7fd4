package reach

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/host/walk"
)

// dialUnixAs connects to a Unix socket as another user of the operating
// system, which is how root logs in where a server trusts the peer's user
// name: the server sees who called connect. uid 0 or our own means ourselves.
// It needs root (CAP_SETUID). Without a deadline in ctx it waits 5 s.
func dialUnixAs(ctx context.Context, uid int, address string) (net.Conn, error) {
	if uid == 0 {
		uid = os.Geteuid()
	}
	if _, root, _ := walk.SplitRoot(address); root == "" && uid == os.Geteuid() {
		var d net.Dialer
		return d.DialContext(ctx, "unix", address)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(5 * time.Second)
	}
	type answer struct {
		fd  int
		err error
	}
	done := make(chan answer)
	go func() {
		fd, err := connectAs(uid, address, deadline)
		select {
		case done <- answer{fd, err}:
		case <-ctx.Done():
			if err == nil {
				unix.Close(fd)
			}
		}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to %s as user %d: %w", address, uid, ctx.Err())
	case a := <-done:
		if a.err != nil {
			return nil, fmt.Errorf("connect to %s as user %d: %w", address, uid, a.err)
		}
		return connOf(a.fd, address)
	}
}

// connectAs makes the connection on a thread of its own, because the user of
// a thread is the thread's alone in Linux (the C library only pretends
// otherwise). If the thread cannot become itself again it is never unlocked,
// and Go ends it together with this goroutine.
func connectAs(uid int, address string, deadline time.Time) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	// connect waits while the server's queue is full: this bounds it.
	left := unix.NsecToTimeval(max(time.Until(deadline), time.Millisecond).Nanoseconds())
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &left)
	if err == nil {
		err = connectFrom(fd, uid, address)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// connectFrom walks to the socket as ourselves and connects from there as the
// user: the way into a container is /proc/PID/root, which no ordinary user may
// pass, not even the server's own.
func connectFrom(fd, uid int, address string) error {
	if _, root, _ := walk.SplitRoot(address); root != "" {
		socket, err := walk.OpenBelow(address)
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		return asUser(uid, func() error {
			return unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", socket)})
		})
	}
	dir, err := unix.Open(filepath.Dir(address), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	near := fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(address))
	return asUser(uid, func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: near}) })
}

// asUser runs f on a thread whose effective user is uid, for this thread only.
func asUser(uid int, f func() error) error {
	if uid == os.Geteuid() {
		return f()
	}
	runtime.LockOSThread()
	before := os.Geteuid()
	if err := setThreadUser(uid); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	failed := f()
	if err := setThreadUser(before); err != nil {
		return err // locked for good: see connectAs
	}
	runtime.UnlockOSThread()
	return failed
}

// setThreadUser is setresuid(-1, uid, -1) without the wrapper that changes
// all threads.
func setThreadUser(uid int) error {
	const keep = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return errno
	}
	return nil
}

func connOf(fd int, address string) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), address)
	defer file.Close() // FileConn has its own copy
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return conn, nil
}
