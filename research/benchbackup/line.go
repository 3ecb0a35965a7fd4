package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// window is how many bytes a connection has on the line at most: the largest send buffer of a Linux that
// nobody has tuned (net.ipv4.tcp_wmem).
const window = 4 << 20

// line is a long way to a server: what goes in at one end comes out at the other half a round trip later.
type line struct {
	listener net.Listener
	to       string
	trip     atomic.Int64 // nanoseconds there and back
	up       atomic.Int64 // bytes to the server
	width    float64      // bytes a second to the server, of all connections together; 0: as many as the machine carries
	all      sync.WaitGroup

	mu   sync.Mutex
	free time.Time // when the line has carried what was put on it
}

func newLine(to string) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, to: to}
	l.all.Go(l.accept)
	return l, nil
}

// address is where its near end is.
func (l *line) address() string { return l.listener.Addr().String() }

func (l *line) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.all.Go(func() { l.join(near.(*net.TCPConn)) })
	}
}

func (l *line) join(near *net.TCPConn) {
	defer near.Close()
	trip := time.Duration(l.trip.Load())
	time.Sleep(trip) // a connection is there after one round trip
	there, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	far := there.(*net.TCPConn)
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { l.carry(far, near, trip/2, &l.up) })
	both.Go(func() { l.carry(near, far, trip/2, nil) })
	both.Wait()
}

// most is how much of the line is carried at once.
const most = 256 << 10

// parcel is some bytes on the line.
type parcel struct {
	due   time.Time
	bytes *[most]byte
	n     int
}

// parcels are used again: a new one for each read cost the processors more than some of what is measured, and who
// writes in small pieces paid more of it.
var parcels = sync.Pool{New: func() any { return new([most]byte) }}

// due is when n bytes that are put on the line now have gone onto it: behind those of all other connections.
func (l *line) due(n int) time.Time {
	now := time.Now()
	if l.width == 0 {
		return now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.width * float64(time.Second)))
	return l.free
}

// carry takes bytes from one end to the other. Where it need not wait the kernel does it.
func (l *line) carry(to, from *net.TCPConn, delay time.Duration, counted *atomic.Int64) {
	defer to.CloseWrite()
	up := counted != nil
	if delay == 0 && (l.width == 0 || !up) {
		n, _ := io.Copy(to, from)
		if counted != nil {
			counted.Add(n)
		}
		return
	}
	way := make(chan parcel, window/most)
	go func() {
		defer close(way)
		for {
			b := parcels.Get().(*[most]byte)
			n, err := from.Read(b[:])
			if n > 0 {
				due := time.Now()
				if up {
					due = l.due(n)
				}
				way <- parcel{due.Add(delay), b, n}
			}
			if err != nil {
				return
			}
		}
	}()
	var failed error
	for p := range way {
		time.Sleep(time.Until(p.due))
		if failed == nil {
			_, failed = to.Write(p.bytes[:p.n])
			if counted != nil {
				counted.Add(int64(p.n))
			}
			if failed != nil {
				from.CloseRead() // so that whoever reads ends
			}
		}
		parcels.Put(p.bytes)
	}
}

func (l *line) close() error {
	err := l.listener.Close()
	l.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
