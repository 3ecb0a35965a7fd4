package client

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"plumb/internal/host/reach"
)

// FakeOptions say how a fake server behaves.
type FakeOptions struct {
	TCP        bool          // listen on 127.0.0.1 instead of a socket without a file
	Row        []string      // what each SELECT answers; nil for one column with 1
	Rows       int           // how often; 0 for one row
	Delay      time.Duration // before each answer
	Stall      time.Duration // all answers wait this long …
	StallEvery time.Duration // … at the end of each such period
	CloseAfter int64         // a connection is closed instead of giving it a further answer; 0 for never
}

// FakeServer speaks enough of PostgreSQL's protocol to measure what a client
// costs: it lets everybody in and gives canned answers. SELECT answers rows,
// INSERT, UPDATE and DELETE change one.
type FakeServer struct {
	o          FakeOptions
	canned     *answers
	listener   net.Listener
	start      time.Time
	statements atomic.Int64
	mu         sync.Mutex
	conns      map[net.Conn]bool
	closed     bool
	wg         sync.WaitGroup
}

// Fake starts a fake server in this process.
func Fake(o FakeOptions) (*FakeServer, error) {
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
	f := &FakeServer{o: o, canned: newAnswers(o.Row, max(o.Rows, 1)), listener: l, start: time.Now(), conns: map[net.Conn]bool{}}
	f.wg.Go(f.accept)
	return f, nil
}

// Config gives what a client needs to connect.
func (f *FakeServer) Config() Config {
	a := f.listener.Addr()
	return Config{Network: a.Network(), Address: a.String(), User: "fake", Database: "fake"}
}

// Statements is the number of statements answered so far.
func (f *FakeServer) Statements() int64 { return f.statements.Load() }

// Close closes all connections and waits for those who serve them.
func (f *FakeServer) Close() error {
	err := f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		err = errors.Join(err, c.Close())
	}
	f.mu.Unlock()
	f.wg.Wait()
	return err
}

func (f *FakeServer) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		if c, err = reach.Quiet(c); err != nil {
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
			asker, _ := reach.NewAsker(c)
			(&fakeSession{f: f, conn: c, asker: asker, status: 'I', statements: map[string]*fakeStatement{}}).serve()
			f.mu.Lock()
			delete(f.conns, c)
			f.mu.Unlock()
			_ = c.Close()
		})
	}
}

// wait is how a slow or stalling server passes its time.
func (f *FakeServer) wait() {
	if f.o.Delay > 0 {
		time.Sleep(f.o.Delay)
	}
	if f.o.StallEvery > 0 {
		within := time.Since(f.start) % f.o.StallEvery
		if within >= f.o.StallEvery-f.o.Stall {
			time.Sleep(f.o.StallEvery - within)
		}
	}
}
