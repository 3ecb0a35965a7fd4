package reach

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// pair gives the two ends of a connection.
func pair(t *testing.T, network string) (here, there net.Conn) {
	t.Helper()
	address := ""
	if network == "tcp" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if here, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	if here, err = Quiet(here); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

func TestAskerAsks(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		here, there := pair(t, network)
		go io.Copy(there, there) // an echo
		a, plain := NewAsker(here)
		if !plain {
			t.Fatal("a socket is taken for something else")
		}
		p := make([]byte, 100)
		for range 1000 {
			if n, err := a.Ask([]byte("hello"), p); err != nil || string(p[:n]) != "hello" {
				t.Fatalf("%s: %q, %v", network, p[:n], err)
			}
		}
		request := []byte("hello")
		if allocations := testing.AllocsPerRun(100, func() { a.Ask(request, p) }); allocations > 0 {
			t.Errorf("%s: %.1f allocations a request", network, allocations)
		}
		there.Close()
		if _, err := a.Ask([]byte("hello"), p); err == nil {
			if _, err = a.Read(p); err == nil {
				t.Errorf("%s: the other end is closed and nobody says so", network)
			}
		}
	}
}

// A request larger than the socket takes, to a server that answers only when
// it has all of it.
func TestAskerSendsLargeRequests(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		here, there := pair(t, network)
		request := bytes.Repeat([]byte("0123456789"), 1<<20)
		go func() {
			got := make([]byte, len(request))
			io.ReadFull(there, got)
			if bytes.Equal(got, request) {
				there.Write([]byte("all"))
			}
			there.Close()
		}()
		a, _ := NewAsker(here)
		p := make([]byte, 100)
		if n, err := a.Ask(request, p); err != nil || string(p[:n]) != "all" {
			t.Errorf("%s: %q, %v", network, p[:n], err)
		}
		if _, err := a.Read(p); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v at the end", network, err)
		}
	}
}

func TestAskerEndsWhenClosed(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		here, _ := pair(t, network)
		a, _ := NewAsker(here)
		time.AfterFunc(20*time.Millisecond, func() { here.Close() })
		if n, err := a.Ask([]byte("hello"), make([]byte, 100)); err == nil {
			t.Errorf("%s: %d bytes of a closed connection", network, n)
		}
		if _, err := here.Write([]byte("x")); err == nil {
			t.Errorf("%s: a closed connection takes more", network)
		}
		if _, err := here.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: a closed connection gives more", network)
		}
	}
}

func TestQuietConnKeepsDeadlines(t *testing.T) {
	here, _ := pair(t, "unix")
	here.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading: %v", err)
	}
	if _, err := here.Write(make([]byte, 100<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing: %v", err)
	}
	here.SetDeadline(time.Time{})
	other, there := pair(t, "unix")
	go func() { time.Sleep(20 * time.Millisecond); there.Write([]byte("late")) }()
	p := make([]byte, 10)
	if n, err := other.Read(p); err != nil || string(p[:n]) != "late" {
		t.Errorf("%q, %v", p[:n], err)
	}
}
