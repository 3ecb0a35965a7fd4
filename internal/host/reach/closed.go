package reach

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Closed tells whether the other end has closed a connection. It reads nothing: what was sent before is still there for
// whoever uses the connection. Of one that is no socket it is not known, and it counts as open.
func Closed(conn net.Conn) bool {
	if layer, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		return Closed(layer.NetConn())
	}
	s, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	over := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		over = err == nil && n > 0
	})
	return over || err != nil // we closed it ourselves
}
