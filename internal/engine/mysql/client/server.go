// Package client puts MySQL, MariaDB and Percona Server under load.
//
// The driver connects and logs in, so every way to log in works. Then its
// connection is taken over by wire code of our own, because a driver's way of
// calling costs more than the server's answer: a statement is prepared once,
// and each call of it is one packet sent and one answer read, in place, into
// a buffer that is used again. Filling tables, asking about the server, and
// connections with TLS, which cannot be taken over, are left to the driver.
package client

import (
	"context"
	"crypto/tls"
	"time"

	"plumb/internal/host/trust"
	"plumb/internal/load"
)

// Config says how to reach a server and how its sessions behave.
type Config struct {
	Network    string        // "unix" or "tcp"
	Address    string        // path of the socket file, or host:port
	User       string        //
	Password   string        //
	Database   string        //
	TLS        *tls.Config   // nil for none; sessions then run on the driver, which costs more of the client
	Text       bool          // the text protocol with the parameters written in, instead of prepared statements
	RetryCodes []string      // errors that go away by trying again; nil for 1213, 1020 and 1205, as sysbench does
	Timeout    time.Duration // for connecting, with logging in; 0: 10 s
	Isolation  string        // "read committed", …; "" leaves the server's default
	PeerUID    int           // connect to a socket as this operating-system user, where we are root; 0 for ourselves
	Secret     trust.Secret  // where the password was found; the zero value when it was given for this server
}

// Server is a MySQL or MariaDB server to put under load.
type Server struct{ c Config }

var _ load.Server = (*Server)(nil)

// New makes a server of its address. It does not connect.
func New(c Config) *Server {
	if c.RetryCodes == nil {
		c.RetryCodes = []string{"1213", "1020", "1205"}
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	return &Server{c}
}

// Engine implements load.Server.
func (s *Server) Engine() string { return "mysql" }

// Path says what sessions of the hot path run on: "wire" or "driver".
func (s *Server) Path() string {
	if s.c.TLS != nil {
		return "driver"
	}
	return "wire"
}

// Open implements load.Server.
func (s *Server) Open(ctx context.Context) (load.Session, error) {
	if s.c.TLS != nil {
		return s.openSlow(ctx)
	}
	return s.openWire(ctx)
}
