package reach

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// A connection is closed when the other end is gone, also while what it said last is not read yet; and what it said stays.
func TestClosed(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ours, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		layers := map[string]net.Conn{"plain": ours, "TLS": tls.Client(ours, &tls.Config{})}
		all := func(want bool) {
			t.Helper()
			for name, conn := range layers {
				if got := Closed(conn); got != want {
					t.Errorf("%s %s is closed: %v", network, name, got)
				}
			}
		}
		all(false)
		if _, err := theirs.Write([]byte("bye")); err != nil {
			t.Fatal(err)
		}
		all(false) // it only said something
		theirs.Close()
		for end := time.Now().Add(time.Minute); !Closed(ours) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		all(true)
		said := make([]byte, 9)
		if n, err := ours.Read(said); err != nil || string(said[:n]) != "bye" {
			t.Errorf("%s: it said %q, %v", network, said[:n], err)
		}
		ours.Close()
		all(true)
	}
	if here, _ := net.Pipe(); Closed(here) {
		t.Error("a connection that is no socket is closed")
	}
}
