package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/host/trust"
)

// Dialer opens read-only sessions. It is the only user of the driver.
//
// A data source name of the command line has the driver's form
// user:password@tcp(host:port)/.
type Dialer struct{}

// The time limits of a session, in force whatever the caller asks.
const (
	dialTime      = 3 * time.Second
	statementTime = 2 * time.Second
)

// ProgramName is what sessions that only read tell the server they are of. Those that change something are
// work to the server like that of its clients, and have another name.
const (
	ProgramName      = "plumb"
	programAttribute = "program_name:"
	changesName      = "plumb change"
)

var _ host.Opener = Dialer{}

// Dial implements host.Dialer.
func (Dialer) Dial(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.Session, error) {
	return logIn(t, secret, func(cfg *mysql.Config) (host.Session, error) { return open(ctx, cfg) })
}

// logIn opens a session with the first login that works.
func logIn[S any](t host.Target, secret func(string) ([]byte, error), open func(*mysql.Config) (S, error)) (s S, err error) {
	var refused []error
	for _, login := range t.Logins {
		cfg, line, err := config(t, login, secret)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		s, err := open(cfg)
		if err == nil {
			return s, nil
		}
		err = line.Explain(err)
		if !errors.Is(err, host.ErrLogin) {
			return s, err // it is down, or full: another name will not help
		}
		refused = append(refused, err)
	}
	return s, host.Refused(t.Address, refused)
}

// config makes the driver's configuration for one login.
func config(t host.Target, l host.Login, secret func(string) ([]byte, error)) (*mysql.Config, *Line, error) {
	cfg := mysql.NewConfig()
	if l.DSN {
		dsn, err := secret(host.SecretDSN)
		if err != nil {
			return nil, nil, fmt.Errorf("read the data source name: %w", err)
		}
		if cfg, err = givenConfig(string(dsn)); err != nil {
			return nil, nil, err
		}
	} else {
		cfg.Net, cfg.Addr, cfg.User = t.Network, t.Address, l.User
		if t.Network == "tcp" {
			cfg.TLSConfig = "preferred"
		}
		if l.File != "" {
			if err := fromFile(cfg, t, l, secret); err != nil {
				return nil, nil, err
			}
		}
	}
	cfg.DBName = ""
	cfg.Params = nil
	cfg.MultiStatements = false
	cfg.AllowAllFiles = false // a server may ask for any file of ours by LOAD DATA LOCAL
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialTime, 2*statementTime, dialTime
	cfg.ConnectionAttributes = programAttribute + ProgramName
	cfg.Logger = log.New(io.Discard, "", 0)
	line := &Line{Reach: reach.Server{Engine: "mysql", Network: cfg.Net, Address: cfg.Addr, PeerUID: l.PeerUID, PID: t.PID, Secret: trust.Secret{File: l.File}}}
	cfg.DialFunc = line.Dial
	return cfg, line, nil
}

// fromFile takes user and password from an option file. A file that is meant
// for another host is not used.
func fromFile(cfg *mysql.Config, t host.Target, l host.Login, secret func(string) ([]byte, error)) error {
	text, err := secret(l.File)
	if err != nil {
		return fmt.Errorf("read login from %s: %w", l.File, err)
	}
	lines, _, _ := parseOptions(text)
	found := false
	for _, o := range lines {
		if o.group != l.Group {
			continue
		}
		switch strings.ReplaceAll(strings.ToLower(o.name), "-", "_") {
		case "user":
			cfg.User, found = o.value, true
		case "password":
			cfg.Passwd, found = o.value, true
		case "host":
			if t.Network == "unix" && o.value != "localhost" && o.value != "127.0.0.1" && o.value != "::1" {
				return fmt.Errorf("read login from %s: it is for host %s", l.File, o.value)
			}
		}
	}
	if !found {
		return fmt.Errorf("read login from %s: no user or password in [%s]", l.File, l.Group)
	}
	return nil
}

func open(ctx context.Context, cfg *mysql.Config) (host.Session, error) {
	s, err := begin(ctx, cfg, (*session).bound)
	if err != nil {
		return nil, err // and no session, not even one that is nil
	}
	return s, nil
}

// begin logs in and makes the session ready.
func begin(ctx context.Context, cfg *mysql.Config, ready func(*session, context.Context) error) (*session, error) {
	s, dial := &session{}, cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		s.line, err = dial(ctx, network, address)
		return s.line, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("log in as %s: %w", cfg.User, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(meaning(cfg.User, err), db.Close())
	}
	s.db, s.conn = db, conn
	if err := ready(s, ctx); err != nil {
		return nil, errors.Join(meaning(cfg.User, err), s.Close())
	}
	return s, nil
}

// session is one connection, read-only and bounded.
type session struct {
	db   *sql.DB
	conn *sql.Conn
	line net.Conn // below it
}

// bounds are the statements that make a session read-only and short of patience, of which
// a server takes the first whose variables it knows, or none. MySQL bounds SELECT by
// max_execution_time, MariaDB any statement by max_statement_time; a server that knows
// neither is bounded by our own deadline. All is set at once, because servers count a
// statement for whoever sends it: SET SESSION TRANSACTION READ ONLY alone is what drivers
// of clients send, and these words are nobody's but ours.
func bounds() []string {
	statement, execution := fmt.Sprintf(", max_statement_time = %d", int(statementTime.Seconds())), fmt.Sprintf(", max_execution_time = %d", statementTime.Milliseconds())
	const older, newer = "SET SESSION tx_read_only = 1, lock_wait_timeout = 1", "SET SESSION transaction_read_only = 1, lock_wait_timeout = 1"
	return []string{
		older + statement, // MariaDB since 10.1, which has had the newer name too since 11.1
		newer + execution, // MySQL since 5.7.20
		newer + statement, // MariaDB without the older name, which is to go
		older + execution, // MySQL 5.7 before
		older,
	}
}

// Opens implements host.Opener.
func (Dialer) Opens() []string { return bounds() }

// bound makes the session read-only and short of patience.
func (s *session) bound(ctx context.Context) (err error) {
	for _, statement := range bounds() {
		if _, err = s.conn.ExecContext(ctx, statement); code(err) != unknownVariable {
			return err
		}
	}
	return err
}

// Query implements host.Session.
func (s *session) Query(ctx context.Context, query string, limits host.QueryLimits) (host.Rows, error) {
	if limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limits.Time)
		defer cancel()
	}
	rows, err := s.conn.QueryContext(ctx, query)
	if xaDenied(query, err) {
		return host.Rows{}, fmt.Errorf("%w: %w", host.ErrDenied, err)
	}
	if err != nil {
		return host.Rows{}, meaning("", err)
	}
	defer rows.Close()
	out, err := take(rows, limits)
	if err != nil {
		return out, meaning("", err)
	}
	return out, nil
}

func take(rows *sql.Rows, limits host.QueryLimits) (host.Rows, error) {
	columns, err := rows.Columns()
	if err != nil {
		return host.Rows{}, err
	}
	out := host.Rows{Columns: columns}
	size := 0
	raw := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range raw {
		into[i] = &raw[i]
	}
	for rows.Next() {
		if limits.Rows > 0 && len(out.Values) >= limits.Rows || limits.Bytes > 0 && size >= limits.Bytes {
			out.Cut = true
			break
		}
		if err := rows.Scan(into...); err != nil {
			return out, err
		}
		row := make([]*string, len(columns))
		for i, v := range raw {
			if v.Valid {
				row[i] = &v.String
				size += len(v.String)
			}
		}
		out.Values = append(out.Values, row)
	}
	return out, rows.Err()
}

var _ host.Ender = (*session)(nil)

// Ended implements host.Ender: wait_timeout ends sessions, and so do proxies.
func (s *session) Ended() bool { return reach.Closed(s.line) }

// Close implements host.Session.
func (s *session) Close() error { return errors.Join(s.conn.Close(), s.db.Close()) }

// unknownVariable is ER_UNKNOWN_SYSTEM_VARIABLE.
const unknownVariable = 1193

func code(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// meaning puts a server's error into the words callers branch on.
func meaning(user string, err error) error {
	if kept := host.Withheld(err); kept != nil {
		return kept
	}
	kind := error(nil)
	switch code(err) {
	case 1044, 1045, 1130, 1251, 1524, 1698, 1820, 1862, 3118, 3955, 4151: // 3118 and 4151: an account that is locked, of MySQL and of MariaDB
		kind = host.ErrLogin
	case 1142, 1143, 1227, 1370, 1345, 3169:
		kind = host.ErrDenied
	case 1969, 3024:
		kind = context.DeadlineExceeded
	case 1040, 1203, 1226, 4031: // 4031: wait_timeout has ended the session, as MySQL says since 8.0.24
		kind = host.ErrDown
	case 0:
		if _, ok := errors.AsType[net.Error](err); ok && !errors.Is(err, context.DeadlineExceeded) {
			kind = host.ErrDown
		}
		if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) {
			kind, err = host.ErrDown, errors.New("the server closed the connection or did not answer in time")
		}
	}
	if user != "" {
		err = fmt.Errorf("as %s: %w", user, err)
	}
	if kind == nil {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
