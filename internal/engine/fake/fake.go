// Package fake listens like a server that speaks just enough of a protocol to
// measure what a client costs. What is said on a connection is the engine's.
package fake

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how a fake server behaves.
type Options struct {
	TCP        bool          // listen on 127.0.0.1 instead of a socket without a file
	Row        []string      // what each SELECT answers; nil for one column with 1
	Rows       int           // how often; 0 for one row
	Delay      time.Duration // before each answer
	Stall      time.Duration // all answers wait this long …
	StallEvery time.Duration // … at the end of each such period
	CloseAfter int64         // a connection is closed instead of giving it a further answer; 0 for never
}

// Server lets everybody in.
type Server struct {
	Options
	Answered atomic.Int64 // statements so far

	listener net.Listener
	start    time.Time
	mu       sync.Mutex
	conns    map[net.Conn]bool
	closed   bool
	over     chan struct{} // closed with the server: ends those who wait
	wg       sync.WaitGroup
}

// Listen makes a server, which does not serve yet.
func Listen(o Options) (*Server, error) {
	network, address := "unix", "" // the system picks an abstract address
	if o.TCP {
		network, address = "tcp", "127.0.0.1:0"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("start a fake server: %w", err)
	}
	if o.Row == nil {
		o.Row = []string{"1"}
	}
	o.Rows = max(o.Rows, 1)
	return &Server{Options: o, listener: l, start: time.Now(), conns: map[net.Conn]bool{}, over: make(chan struct{})}, nil
}

// Serve begins to serve each connection in a goroutine of its own, after wrap
// took it over.
func (f *Server) Serve(wrap func(net.Conn) (net.Conn, error), serve func(net.Conn)) {
	f.wg.Go(func() {
		for {
			c, err := f.listener.Accept()
			if err != nil {
				return // closed
			}
			if c, err = wrap(c); err != nil {
				continue // the client sees that the connection is closed
			}
			f.mu.Lock()
			if f.closed {
				f.mu.Unlock()
				_ = c.Close()
				return
			}
			f.conns[c] = true
			f.mu.Unlock()
			f.wg.Go(func() {
				serve(c)
				f.mu.Lock()
				delete(f.conns, c)
				f.mu.Unlock()
				_ = c.Close()
			})
		}
	})
}

// Addr is where it listens.
func (f *Server) Addr() net.Addr { return f.listener.Addr() }

// Statements is the number of statements answered so far.
func (f *Server) Statements() int64 { return f.Answered.Load() }

// Close closes all connections and waits for those who serve them.
func (f *Server) Close() error {
	err := f.listener.Close()
	f.mu.Lock()
	for c := range f.conns {
		err = errors.Join(err, c.Close())
	}
	if !f.closed { // not before the connections are: who waits would still give his answer
		close(f.over)
	}
	f.closed = true
	f.mu.Unlock()
	f.wg.Wait()
	return err
}

// Wait is how a slow or stalling server passes its time.
func (f *Server) Wait() {
	f.pause(f.Delay)
	if f.StallEvery > 0 {
		within := time.Since(f.start) % f.StallEvery
		if within >= f.StallEvery-f.Stall {
			f.pause(f.StallEvery - within)
		}
	}
}

// pause waits, at most as long as the server runs.
func (f *Server) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.over:
	}
}
