package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/internal/host"
)

// askClear is a server that asks for the password in clear, and gives what it
// was told.
func askClear(c net.Conn, told chan<- []byte) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			told <- nil
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:])-8)
		_, _ = io.ReadFull(c, rest)
		if binary.BigEndian.Uint32(head[4:]) != 80877103 {
			break
		}
		_, _ = c.Write([]byte("N")) // no TLS here
	}
	_, _ = c.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3})
	answer := make([]byte, 100)
	n, _ := c.Read(answer)
	told <- answer[:n]
}

// TestCleartextOverANetworkIsRefused: AuthenticationCleartextPassword is answered
// on this machine, and over a network only where TLS was demanded.
func TestCleartextOverANetworkIsRefused(t *testing.T) {
	for address, sent := range map[string]bool{"db1:5432": false, "127.0.0.1:5432": true} {
		for _, mode := range []string{"disable", "prefer", ""} {
			c := credentials{user: "u", password: "s3cr3tpw", database: "d", sslmode: mode}
			target := host.Target{Engine: "postgres", Network: "tcp", Address: address}
			cfg, err := config(target, c)
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan []byte, 4)
			var dials atomic.Int64 // a connection that is refused is cancelled over another, meanwhile
			cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
			cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				dials.Add(1)
				go askClear(theirs, told)
				return ours, nil
			}
			_, err = pgconn.ConnectConfig(t.Context(), cfg)
			err = meaning(err)
			var got []byte
			for range dials.Load() { // one with TLS may have gone before
				got = append(got, <-told...)
			}
			if (len(got) > 0) != sent || len(got) > 5 && string(got[5:len(got)-1]) != "s3cr3tpw" {
				t.Errorf("%s, sslmode %q: told %q", address, mode, got)
			}
			if !sent && (!errors.Is(err, ErrReadable) || !errors.Is(err, host.ErrLogin)) {
				t.Errorf("%s, sslmode %q: %v", address, mode, err)
			}
		}
		for _, mode := range []string{"require", "verify-full"} {
			cfg, err := config(host.Target{Network: "tcp", Address: address}, credentials{user: "u", sslmode: mode})
			if err != nil || cfg.RequireAuth != "" || len(cfg.Fallbacks) > 0 && cfg.Fallbacks[0].TLSConfig == nil {
				t.Errorf("%s, sslmode %s: %q, %v", address, mode, cfg.RequireAuth, err)
			}
		}
	}
}
