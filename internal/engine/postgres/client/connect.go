package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	engine "plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/load"
	"plumb/internal/units"
)

// connect logs in and sets the session up.
func (s *Server) connect(ctx context.Context) (*pgconn.PgConn, error) {
	cfg, err := s.config()
	if err != nil {
		return nil, hint.With(&load.Failure{Doing: "connect to " + s.c.Address, Err: err}, "an address is a host and a port, such as localhost:5432")
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, s.unreached(err)
	}
	if err := s.settle(ctx, conn); err != nil {
		_ = conn.Close(ctx)
		return nil, s.unreached(err)
	}
	return conn, nil
}

// config makes the driver's configuration.
func (s *Server) config() (*pgconn.Config, error) {
	cfg, err := engine.DriverConfig(s.c.Network, s.c.Address, s.c.TLS != nil, map[string]string{"user": s.c.User, "password": s.c.Password, "database": s.c.Database})
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = "plumb load" // plumb watch leaves out what is called plumb alone
	cfg.Fallbacks = nil
	reach := reach.Server{Engine: "postgres", Network: s.c.Network, Address: s.c.Address, PeerUID: s.c.PeerUID, Secret: s.c.Secret,
		Verified: s.c.Verified()}
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return reach.Dial(ctx) }
	if s.c.Network != "unix" && s.c.TLS != nil {
		cfg.TLSConfig = s.c.TLS.Clone()
		if cfg.TLSConfig.ServerName == "" {
			cfg.TLSConfig.ServerName = cfg.Host
		}
	}
	return cfg, nil
}

// settle gives a new session what all sessions of a load have. It uses SET and
// not start-up parameters, which poolers refuse.
func (s *Server) settle(ctx context.Context, conn *pgconn.PgConn) error {
	var set []string
	if conn.ParameterStatus("standard_conforming_strings") == "off" {
		set = append(set, "SET standard_conforming_strings = on") // the placeholders are found by its rules
	}
	if s.c.Isolation != "" {
		set = append(set, "SET default_transaction_isolation = "+engine.Literal(s.c.Isolation))
	}
	if len(set) == 0 {
		return nil
	}
	_, err := conn.Exec(ctx, strings.Join(set, "; ")).ReadAll()
	return err
}

// unreached words an error of connecting.
func (s *Server) unreached(err error) error {
	doing := "connect to " + s.c.Address
	f := &load.Failure{Class: load.Lost, Doing: doing, Err: err}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		f.Class, f.Code, f.Message, f.Err = load.Fatal, e.Code, e.Message, nil
		if goneCode(e.Code) || e.Code == "53300" {
			f.Class = load.Lost
		}
		return hint.With(f, s.loginHint(e.Code))
	}
	help := "is the server running, and is " + s.c.Address + " where it listens?"
	if kept := host.Withheld(err); kept != nil {
		f.Class, f.Err = load.Fatal, kept
		return hint.With(f, "--dsn with a password in PLUMB_DSN, or PGPASSWORD, gives one for this server")
	}
	e, failed := errors.AsType[*pgconn.ConnectError](err)
	wrong, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.Err = fmt.Errorf("no answer within %s: %w", units.Span(s.c.Timeout), context.DeadlineExceeded)
	case distrusted:
		f.Class, f.Err, help = load.Fatal, wrong, "give the certificate that signed the server's"
	case failed:
		f.Err = reason(e)
		if strings.Contains(f.Err.Error(), "require_auth check failed") { // the driver has no other sign
			f.Class, f.Err, help = load.Fatal, engine.ErrReadable, ""
		}
		if s.c.TLS != nil && strings.Contains(f.Err.Error(), "refused TLS") { // the driver has no other sign
			f.Class, help = load.Fatal, "the server has ssl = off"
		}
	}
	return hint.With(f, help)
}

// loginHint says what to do about a login that the server refused.
func (s *Server) loginHint(code string) string {
	switch {
	case code == "3D000":
		return "make it with: createdb " + s.c.Database
	case code == "28P01":
		return "check the password of " + s.c.User
	case strings.HasPrefix(code, "28"):
		return "pg_hba.conf on the server decides who may log in, from where and how"
	case code == "53300":
		return "raise max_connections and restart the server, or use fewer threads"
	case code == "22023" && s.c.Isolation != "":
		return "levels are: read committed, repeatable read, serializable"
	case code == "57P03":
		return "the server is starting or stopping: try again when it is up"
	}
	return ""
}

// reason gives what went wrong without the driver's account of where: for a
// socket it names an address where nobody was asked.
func reason(e *pgconn.ConnectError) error {
	if op, ok := errors.AsType[*net.OpError](e); ok {
		return op.Err
	}
	return errors.New(engine.Reason(e))
}
