package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/load"
	"plumb/internal/units"
)

// Capabilities that decide how answers look, as negotiated at the login.
const (
	deprecateEOF  = 1 << 24
	cacheMetadata = 1 << 4 // of MariaDB's extended ones
)

// overheard is the connection of a login. It reads along what client and
// server agree on.
type overheard struct {
	net.Conn
	plain          net.Conn // the same, as the machine gave it
	server, client []byte   // the first packet of each
}

// Read implements net.Conn.
func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	if o.client == nil {
		o.server = append(o.server, p[:n]...)
	}
	return n, err
}

// Write implements net.Conn.
func (o *overheard) Write(p []byte) (int, error) {
	if o.client == nil {
		o.client = append([]byte{}, p...)
	}
	return o.Conn.Write(p)
}

// agreed gives the capabilities and MariaDB's extended ones that the client
// announced: it announces only what the server has.
func (o *overheard) agreed() (caps, extended uint32) {
	if len(o.client) < 36 {
		return 0, 0
	}
	caps = binary.LittleEndian.Uint32(o.client[4:])
	if caps&1 == 0 { // CLIENT_MYSQL is off: the peer knows MariaDB's extension
		extended = binary.LittleEndian.Uint32(o.client[32:])
	}
	return caps, extended
}

// config makes the driver's configuration, and the line it connects with. heard
// gets the connection that is made with it.
func (s *Server) config(heard **overheard) (*mysql.Config, *engine.Line) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = s.c.User, s.c.Password, s.c.Network, s.c.Address, s.c.Database
	c.Timeout = s.c.Timeout
	c.TLS = s.c.TLS
	c.AllowNativePasswords = true
	c.CheckConnLiveness = false
	c.Logger = silent{}
	c.ConnectionAttributes = "program_name:plumb load" // plumb watch leaves out what is called plumb alone
	line := &engine.Line{Reach: reach.Server{Engine: "mysql", Network: s.c.Network, Address: s.c.Address, PeerUID: s.c.PeerUID, Secret: s.c.Secret,
		Verified: s.c.Verified()}}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := line.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if heard == nil {
			return conn, nil
		}
		*heard = &overheard{Conn: conn, plain: line.Plain}
		return *heard, nil
	}
	return c, line
}

// silent keeps the driver from printing.
type silent struct{}

// Print implements mysql.Logger.
func (silent) Print(...any) {}

// connect logs one connection in.
func (s *Server) connect(ctx context.Context, heard **overheard) (driver.Conn, error) {
	cfg, line := s.config(heard)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, s.unreached(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, s.unreached(line.Explain(err))
	}
	return conn, nil
}

// database opens a connection of database/sql.
func (s *Server) database() (*sql.DB, error) {
	cfg, _ := s.config(nil)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, s.unreached(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// isolation is the statement that sets a session's isolation; "" for none.
func (s *Server) isolation() string {
	if s.c.Isolation == "" {
		return ""
	}
	return "SET SESSION TRANSACTION ISOLATION LEVEL " + strings.ToUpper(s.c.Isolation)
}

// unreached words an error of connecting.
func (s *Server) unreached(err error) error {
	f := &load.Failure{Class: load.Lost, Doing: "connect to " + s.c.Address, Err: err}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		f.Class, f.Code, f.Message, f.Err = load.Fatal, strconv.Itoa(int(e.Number)), e.Message, nil
		if e.Number == 1040 || e.Number == 1203 {
			f.Class = load.Lost
		}
		return hint.With(f, s.loginHint(e.Number))
	}
	if errors.Is(err, host.ErrLogin) {
		f.Class = load.Fatal
		return hint.With(f, "--dsn with a password in PLUMB_DSN, or MYSQL_PWD, gives one for this server")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		f.Err = op.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Err = fmt.Errorf("no answer within %s: %w", units.Span(s.c.Timeout), context.DeadlineExceeded)
	}
	return hint.With(f, "is the server running, and is "+s.c.Address+" where it listens?")
}

// loginHint says what to do about a login that the server refused.
func (s *Server) loginHint(code uint16) string {
	switch code {
	case 1049:
		return "make it with: CREATE DATABASE " + s.c.Database
	case 1045:
		return "check the user and the password; the server tells users apart by the host they come from"
	case 1044:
		return "GRANT ALL ON " + s.c.Database + ".* to the user"
	case 1040:
		return "raise max_connections (SET GLOBAL, no restart), or use fewer threads"
	case 1203:
		return "raise max_user_connections, or use fewer threads"
	case 1130:
		return "the server knows no user from this host"
	case 1698:
		return "this user logs in by the name of the operating-system user: use another, or run as that user"
	}
	return ""
}
