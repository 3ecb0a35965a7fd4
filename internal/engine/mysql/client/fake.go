package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
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

// FakeServer speaks enough of MySQL's protocol to measure what a client
// costs: it lets everybody in and gives canned answers. SELECT answers rows,
// everything else changes one.
type FakeServer struct {
	o          FakeOptions
	text       []byte // the answer to a SELECT by the text protocol
	binary     []byte // and to a prepared one
	defined    []byte // the columns, as the answer to a prepare has them
	listener   net.Listener
	start      time.Time
	statements atomic.Int64
	mu         sync.Mutex
	conns      map[net.Conn]bool
	closed     bool
	over       chan struct{} // closed with the server: ends those who wait
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
	f := &FakeServer{o: o, listener: l, start: time.Now(), conns: map[net.Conn]bool{}, over: make(chan struct{})}
	f.can(max(o.Rows, 1))
	f.wg.Go(f.accept)
	return f, nil
}

// can makes the answers to SELECTs.
func (f *FakeServer) can(rows int) {
	answer := func(head []byte) []byte {
		seq := byte(1)
		var out []byte
		add := func(body []byte) { out = appendPacket(out, seq, body); seq++ }
		add([]byte{byte(len(f.o.Row))})
		for range f.o.Row {
			add(fakeColumn)
		}
		for range rows {
			body := append([]byte{}, head...)
			for _, cell := range f.o.Row {
				body = append(appendLength(body, len(cell)), cell...)
			}
			add(body)
		}
		add([]byte{isEOF, 0, 0, 2, 0, 0, 0})
		return out
	}
	f.text = answer(nil)
	f.binary = answer(make([]byte, 1+(len(f.o.Row)+9)/8))
	for i := range f.o.Row {
		f.defined = appendPacket(f.defined, byte(2+i), fakeColumn)
	}
}

// fakeColumn defines a column of type VAR_STRING named c.
var fakeColumn = []byte("\x03def\x00\x00\x00\x01c\x00\x0c\x21\x00\x00\x01\x00\x00\xfd\x00\x00\x00\x00\x00")

func appendPacket(out []byte, seq byte, body []byte) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body))|uint32(seq)<<24)
	return append(out, body...)
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
	if !f.closed {
		close(f.over)
	}
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
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			_ = c.Close()
			return
		}
		f.conns[c] = true
		f.mu.Unlock()
		f.wg.Go(func() {
			(&fakeSession{f: f, conn: c, in: make([]byte, 64<<10)}).serve()
			f.mu.Lock()
			delete(f.conns, c)
			f.mu.Unlock()
			_ = c.Close()
		})
	}
}

// wait is how a slow or stalling server passes its time.
func (f *FakeServer) wait() {
	f.pause(f.o.Delay)
	if f.o.StallEvery > 0 {
		within := time.Since(f.start) % f.o.StallEvery
		if within >= f.o.StallEvery-f.o.Stall {
			f.pause(f.o.StallEvery - within)
		}
	}
}

// pause waits, at most as long as the server runs.
func (f *FakeServer) pause(d time.Duration) {
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
