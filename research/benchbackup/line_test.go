package main

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// server is the address of one that does something with each connection, and closes it then.
func server(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { do(c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestLineDelays looks at what a line adds: a round trip for the connection and one for each question.
func TestLineDelays(t *testing.T) {
	at := server(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
	for _, trip := range []time.Duration{0, 40 * time.Millisecond} {
		l, err := newLine(at)
		if err != nil {
			t.Fatal(err)
		}
		l.trip.Store(int64(trip))
		began := time.Now()
		c, err := net.Dial("tcp", l.address())
		if err != nil {
			t.Fatal(err)
		}
		const bytesSent = 9 << 20 // more than the line holds
		want := bytes.Repeat([]byte("0123456789abcdef"), bytesSent/16)
		go func() { _, _ = c.Write(want); _ = c.(*net.TCPConn).CloseWrite() }()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d of %d bytes came back, %v", len(got), len(want), err)
		}
		if took := time.Since(began); took < 2*trip {
			t.Errorf("it took %s over a line of %s", took, trip)
		}
		_ = c.Close()
		if err := l.close(); err != nil {
			t.Error(err)
		}
		if n := l.up.Load(); n != bytesSent {
			t.Errorf("%d bytes went up", n)
		}
	}
}

// TestLineIsNarrow looks at what all connections of a narrow line carry together.
func TestLineIsNarrow(t *testing.T) {
	at := server(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	l, err := newLine(at)
	if err != nil {
		t.Fatal(err)
	}
	const connections, each = 2, 1 << 20
	l.width = 8 << 20
	began := time.Now()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			c, err := net.Dial("tcp", l.address())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = c.Write(make([]byte, each))
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c) // until the other end has all
		})
	}
	all.Wait()
	if least := time.Duration(float64(connections*each) / l.width * float64(time.Second)); time.Since(began) < least {
		t.Errorf("%d bytes went within %s", connections*each, time.Since(began))
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
}
