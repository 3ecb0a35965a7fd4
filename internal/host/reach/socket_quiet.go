package reach

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quietConn is a Unix socket of which the runtime hears only when there is
// something to read. The runtime's own poller also hears when the peer has
// taken what was sent. A Unix socket tells that for every request, and with
// one connection it wakes a thread each time, for nothing.
//
// So the socket is in a poller of its own, which waits for reading only, and
// the runtime watches that poller.
type quietConn struct {
	poller        *os.File // stands for the socket: ready when that can be read
	raw           syscall.RawConn
	open          sync.RWMutex // held by those who use fd
	fd            int          // -1 when closed
	f             func(fd uintptr) bool
	step          func(uintptr) bool // kept, because a closure made per call is an allocation
	writeDeadline atomic.Int64       // in Unix nanoseconds; 0 for none
	local, remote net.Addr
}

// Quiet takes over a connection and closes it, if it is a Unix socket; any
// other it gives back as it is. One goroutine at a time may read and one may
// write; Close may be called at any time, and ends them.
func Quiet(c net.Conn) (net.Conn, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return c, nil
	}
	q := &quietConn{fd: -1, local: u.LocalAddr(), remote: u.RemoteAddr()}
	if err := errors.Join(q.take(u), u.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("watch the socket %s: %w", q.remote, err), q.Close())
	}
	return q, nil
}

// take sets up what the connection needs. What is set up when it fails, Close
// takes away.
func (q *quietConn) take(u *net.UnixConn) error {
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { q.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if q.poller, err = readPoller(q.fd); err != nil {
		return err
	}
	q.step = func(uintptr) bool { return q.f(uintptr(q.fd)) }
	q.raw, err = q.poller.SyscallConn()
	return err
}

// readPoller makes a poller that is ready when fd can be read.
func readPoller(fd int) (*os.File, error) {
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)})
	if err == nil {
		err = unix.SetNonblock(poller, true) // by which os.NewFile knows that the runtime can watch it
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(poller))
	}
	return os.NewFile(uintptr(poller), "poller"), nil
}

// SyscallConn implements syscall.Conn, for Asker.
func (q *quietConn) SyscallConn() (syscall.RawConn, error) { return (*quietRaw)(q), nil }

// quietRaw gives the socket, and waits by the poller.
type quietRaw quietConn

// Read implements syscall.RawConn.
func (q *quietRaw) Read(f func(fd uintptr) bool) error {
	q.open.RLock()
	defer q.open.RUnlock()
	q.f = f
	return q.raw.Read(q.step)
}

// Control implements syscall.RawConn.
func (q *quietRaw) Control(f func(fd uintptr)) error {
	q.open.RLock()
	defer q.open.RUnlock()
	return q.raw.Control(func(uintptr) { f(uintptr(q.fd)) })
}

// Write implements syscall.RawConn. Nobody is told when one can write.
func (q *quietRaw) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// Read implements net.Conn.
func (q *quietConn) Read(p []byte) (n int, err error) {
	closed := (*quietRaw)(q).Read(func(fd uintptr) bool {
		n, err = retried(unix.Read, int(fd), p)
		return err != unix.EAGAIN
	})
	switch {
	case closed != nil:
		return 0, closed
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn. It looks every 10 ms whether it is to give up.
func (q *quietConn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		var some int
		closed := (*quietRaw)(q).Control(func(fd uintptr) {
			if some, err = retried(unix.Write, int(fd), p[n:]); err == unix.EAGAIN {
				_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 10) // the next write says what is wrong
			}
		})
		if closed != nil {
			return n, closed
		}
		n += max(some, 0)
		switch deadline := q.writeDeadline.Load(); {
		case err == unix.EAGAIN && deadline != 0 && time.Now().UnixNano() > deadline:
			return n, os.ErrDeadlineExceeded
		case err != nil && err != unix.EAGAIN:
			return n, err
		}
	}
	return n, nil
}

func retried(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// Close implements net.Conn. The poller goes first, because that ends a Read.
func (q *quietConn) Close() error {
	var err error
	if q.poller != nil {
		err = q.poller.Close()
	}
	q.open.Lock()
	defer q.open.Unlock()
	if q.fd >= 0 {
		err = errors.Join(err, unix.Close(q.fd))
	}
	q.fd = -1
	return err
}

func (q *quietConn) LocalAddr() net.Addr  { return q.local }
func (q *quietConn) RemoteAddr() net.Addr { return q.remote }

func (q *quietConn) SetDeadline(t time.Time) error {
	return errors.Join(q.SetWriteDeadline(t), q.SetReadDeadline(t))
}

func (q *quietConn) SetReadDeadline(t time.Time) error { return q.poller.SetReadDeadline(t) }

func (q *quietConn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		q.writeDeadline.Store(0)
	} else {
		q.writeDeadline.Store(t.UnixNano())
	}
	return nil
}
