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
	Database   string        // "" for the one named as the user
	TLS        *tls.Config   // nil for none; ignored on sockets
	Text       bool          // simple queries with the parameters written into them, instead of prepared statements
	RetryCodes []string      // errors that go away by trying again; nil for 40001, 40P01 and 23505, as sysbench does
	Timeout    time.Duration // for connecting, with logging in; 0: 10 s
	Isolation  string        // "read committed", …; "" leaves the server's default
	PeerUID    int           // connect to a socket as this operating-system user, where we are root; 0 for ourselves
	Secret     trust.Secret  // where the password was found; the zero value when it was given for this server
}

// Server is a PostgreSQL server to put under load.
type Server struct{ c Config }

var _ load.Server = (*Server)(nil)

// New makes a server of its address. It does not connect.
func New(c Config) *Server {
	if c.RetryCodes == nil {
		c.RetryCodes = []string{"40001", "40P01", "23505"}
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Database == "" {
		c.Database = c.User
	}
	return &Server{c}
}

// Engine implements load.Server.
func (s *Server) Engine() string { return "postgres" }

// Open implements load.Server.
func (s *Server) Open(ctx context.Context) (load.Session, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return s.session(conn)
}

// Admin implements load.Server.
func (s *Server) Admin(ctx context.Context) (load.Admin, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{s: s, conn: conn}, nil
}
