package client

import (
	"context"
	"time"

	"plumb/internal/load"
)

// Config says how to reach a server and how its sessions behave.
type Config = load.Login

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
