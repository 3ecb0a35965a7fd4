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
	"time"

	"plumb/internal/load"
)

// Config says how to reach a server and how its sessions behave.
type Config = load.Login

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
