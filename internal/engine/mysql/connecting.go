package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/host/trust"
)

// errReadable says why a login stopped before the password was sent.
var errReadable = fmt.Errorf("%w: the server asks for the password itself, on a line that anybody on the way could read: "+
	"ask for TLS (tls=true), or log in on the server's own machine", host.ErrLogin)

// Line is what the driver connects with.
type Line struct {
	Reach   reach.Server
	Plain   net.Conn // the last connection, as the machine gave it
	stopped atomic.Bool
}

// Dial is for the driver's configuration.
func (l *Line) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := l.Reach.Dial(ctx)
	l.Plain = conn
	if err == nil && trust.Readable(l.Reach.Network, l.Reach.Address, false) {
		conn = &guarded{conn, &l.stopped}
	}
	return conn, err
}

// Explain gives the reason for an error of the driver's, which says only that
// the connection is of no use.
func (l *Line) Explain(err error) error {
	if err != nil && l.stopped.Load() {
		return errReadable
	}
	return err
}

// guarded is a line over a network. Where there is no TLS the driver asks the
// server for a key to encrypt the password with, and whoever sits on the way
// can give his own. The request never leaves.
type guarded struct {
	net.Conn
	stopped *atomic.Bool
}

// NetConn gives the line itself, as that of a TLS connection does.
func (g *guarded) NetConn() net.Conn { return g.Conn }

// Write implements net.Conn.
func (g *guarded) Write(p []byte) (int, error) {
	if asksForKey(p) {
		g.stopped.Store(true)
		return 0, errors.Join(errReadable, g.Close())
	}
	return g.Conn.Write(p)
}

// asksForKey reports whether a packet asks the server for its key. That is one
// of a single byte, 1 or 2, that answers a packet of the server's (only commands
// have the number 0), or the first answer to a server whose default is
// sha256_password, with that byte in the place of the proof. What is sent over
// TLS begins with other bytes.
func asksForKey(p []byte) bool {
	const header, fixed = 4, 32 // capabilities, largest packet, character set and room
	if len(p) <= header || p[3] == 0 || int(p[0])|int(p[1])<<8|int(p[2])<<16 != len(p)-header {
		return false
	}
	body := p[header:]
	if len(body) == 1 {
		return body[0] == 1 || body[0] == 2
	}
	if p[3] != 1 || len(body) <= fixed {
		return false
	}
	_, proof, _ := bytes.Cut(body[fixed:], []byte{0}) // after the name of the user
	return len(proof) >= 2 && proof[0] == 1 && proof[1] == 1
}
