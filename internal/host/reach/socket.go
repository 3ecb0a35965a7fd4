package reach

import (
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Asker sends requests over a plain socket and reads their answers, with
// fewer system calls than net.Conn: right after a request was sent its answer
// cannot be there yet, so it waits at once, where net.Conn would first read in
// vain. Deadlines and Close of the connection hold for it.
type Asker struct {
	conn net.Conn
	raw  syscall.RawConn
	once func(fd uintptr) bool // kept, because a closure made per call is an allocation
	ask  []byte                // what is to be sent before anything is read
	p    []byte
	n    int
	err  error
	sent bool
}

// NewAsker gives an Asker of a connection that is a plain socket; false for
// any other, such as TLS.
func NewAsker(c net.Conn) (*Asker, bool) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, false
	}
	a := &Asker{conn: c, raw: raw}
	a.once = a.step
	return a, true
}

// Ask sends a request and reads the beginning of its answer into p. Without
// room in p it only sends.
//
// The request is sent from within the reading half, after the runtime has
// forgotten earlier readiness: otherwise the answer could come between, and
// one would wait for it for ever.
func (a *Asker) Ask(request, p []byte) (n int, err error) {
	a.ask, a.sent = request, true
	n, err = a.Read(p)
	if len(a.ask) > 0 && err == nil { // the socket took only a part
		rest := a.ask
		a.ask = nil
		if _, err := a.conn.Write(rest); err != nil || len(p) == 0 {
			return 0, err
		}
		return a.Read(p)
	}
	a.ask = nil
	return n, err
}

// Read reads more of an answer. It tries before it waits.
func (a *Asker) Read(p []byte) (int, error) {
	a.p, a.n, a.err = p, 0, nil
	err := a.raw.Read(a.once)
	a.p = nil
	switch {
	case err != nil:
		return 0, err
	case a.err != nil:
		return 0, a.err
	case a.n == 0 && len(a.ask) == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return a.n, nil
}

// step gives false to wait until there is something to read.
func (a *Asker) step(fd uintptr) bool {
	if a.sent {
		a.sent = false
		return !a.send(fd) || len(a.p) == 0
	}
	n, err := transfer(unix.SYS_READ, fd, a.p)
	if err == syscall.EAGAIN {
		return false
	}
	a.n = n
	if err != 0 {
		a.err = err
	}
	return true
}

// send reports whether the whole request was sent.
func (a *Asker) send(fd uintptr) bool {
	n, err := transfer(unix.SYS_WRITE, fd, a.ask)
	a.ask = a.ask[n:]
	if err != 0 && err != syscall.EAGAIN {
		a.err = err
		return false
	}
	return len(a.ask) == 0
}

// transfer is read or write of a socket that does not block. As the call is
// short, the runtime is not told of it: being told, it wakes its monitor
// thread, which had gone to sleep as all goroutines waited, and with one
// connection that costs a third of a request's processor time.
func transfer(call, fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, err := unix.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch err {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, err
		}
	}
}
