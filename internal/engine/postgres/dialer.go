package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/host/statement"
	"plumb/internal/host/trust"
	"plumb/internal/units"
)

// Dialer opens sessions: read-only ones, and for package change ones that may
// change the server. It is the only user of the driver.
type Dialer struct{}

// The time limits of a session, in force whatever the caller asks.
const (
	dialTime      = 3 * time.Second
	statementTime = 2 * time.Second
)

// What a question that looks more than once needs: a pause between two looks, of
// which statement_timeout bounds how many there can be, and to forget what this
// session saw of the others, without which all looks of a statement are the same.
const (
	pause = "pg_sleep(0.001)"
	anew  = "pg_stat_clear_snapshot()"
)

// Reads implements host.Dialer.
func (Dialer) Reads(query string) bool {
	return statement.Reads(strings.NewReplacer(pause, "0", anew, "0").Replace(query))
}

var _ host.Opener = Dialer{}

// Dial implements host.Dialer.
func (Dialer) Dial(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.Session, error) {
	s, err := logIn(ctx, t, secret, (*session).bound)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// logIn opens a session with the first login that works; prepare makes it
// ready for its use.
func logIn(ctx context.Context, t host.Target, secret func(string) ([]byte, error), prepare func(*session, context.Context) error) (*session, error) {
	var refused []error
	for _, login := range t.Logins {
		credentials, err := credentialsFor(t, login, secret)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		s, err := open(ctx, t, login, credentials, prepare)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, host.ErrLogin) {
			return nil, err // it is down, or full: another name will not help
		}
		refused = append(refused, err)
	}
	return nil, host.Refused(t.Address, refused)
}

func open(ctx context.Context, t host.Target, login host.Login, c credentials, prepare func(*session, context.Context) error) (*session, error) {
	cfg, err := config(t, c)
	if err != nil {
		return nil, err
	}
	dialing(cfg, reach.Server{Engine: "postgres", Network: t.Network, Address: t.Address, PeerUID: login.PeerUID, PID: t.PID,
		Secret: trust.Secret{File: login.File}})
	all := ctx
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if errors.Is(err, context.DeadlineExceeded) && all.Err() == nil {
		return nil, fmt.Errorf("as %s: %w: no answer within %s", c.user, host.ErrDown, units.Span(dialTime))
	}
	if kept := host.Withheld(err); kept != nil {
		return nil, kept
	}
	if err != nil {
		return nil, fmt.Errorf("as %s: %w", c.user, meaning(err))
	}
	s := &session{conn}
	if err := prepare(s, ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make the session ready: %w", meaning(err)), s.Close())
	}
	return s, nil
}

func config(t host.Target, c credentials) (*pgconn.Config, error) {
	mode := cmp.Or(c.sslmode, "prefer")
	if t.Network == "unix" {
		mode = "disable"
	}
	return DriverConfig(t.Network, t.Address, mode == "require" || strings.HasPrefix(mode, "verify-"), map[string]string{
		"user": c.user, "password": c.password, "database": c.database, "sslmode": mode, "sslcert": c.sslcert, "sslkey": c.sslkey,
		"sslrootcert": c.sslrootcert, "connect_timeout": strconv.Itoa(int(dialTime.Seconds()))})
}

// DriverConfig makes the driver's configuration. The driver takes what is not
// given from PG* variables and files in the home directory: every key that could
// is given here, so that nothing depends on the shell Plumb is started from.
// encrypted tells that no line is used that others can read.
func DriverConfig(network, address string, encrypted bool, given map[string]string) (*pgconn.Config, error) {
	keys := map[string]string{"host": "localhost", "port": "5432", "passfile": "/dev/null", "sslmode": "disable", "sslcert": "", "sslkey": "", "sslrootcert": "",
		"sslpassword": "", "sslcertmode": "allow", "sslnegotiation": "postgres", "sslsni": "1", "target_session_attrs": "any",
		"min_protocol_version": "3.0", "max_protocol_version": "3.0", "channel_binding": "prefer", "require_auth": "", "connect_timeout": "0"}
	if network != "unix" {
		var err error
		if keys["host"], keys["port"], err = net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("read the address %s: %w", address, err)
		}
	}
	maps.Copy(keys, given)
	var text strings.Builder
	for key, value := range keys {
		fmt.Fprintf(&text, "%s='%s' ", key, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value))
	}
	cfg, err := pgconn.ParseConfig(text.String())
	if err != nil { // the driver's error can hold the password
		return nil, errors.New("make up the connection: is PGSERVICE set, or a certificate file missing?")
	}
	cfg.RuntimeParams = map[string]string{"application_name": "plumb", "client_encoding": "UTF8"}
	if trust.Readable(network, address, encrypted) {
		cfg.RequireAuth = "!password"
	}
	return cfg, nil
}

// dialing makes the driver connect the way we do.
func dialing(cfg *pgconn.Config, r reach.Server) {
	cfg.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
		r := r
		if r.Network != "unix" {
			r.Address = address // of which the name was looked up
		}
		return r.Dial(ctx)
	}
}

// ErrReadable says why a login stopped before the password was sent.
var ErrReadable = errors.New("the server asks for the password itself, on a line that anybody on the way could read: " +
	"ask for TLS (sslmode=verify-full), or log in on the server's own machine")

// session is one connection, read-only and bounded.
type session struct{ conn *pgconn.PgConn }

// bounds makes a session read-only and short of patience. These are no start-up parameters,
// so that pg_settings still tells what the server would give any other session (reset_val).
// It is one SELECT and not a SET, because pg_stat_statements counts it like a client's, and
// of the text of a command only two words are kept, which clients send too. pg_catalog is
// named because the search path is not ours yet.
func bounds() string {
	var set []string
	for _, of := range [][2]string{{"default_transaction_read_only", "on"}, {"statement_timeout", strconv.FormatInt(statementTime.Milliseconds(), 10)},
		{"lock_timeout", "500"}, {"idle_in_transaction_session_timeout", "10000"}, {"search_path", "pg_catalog"}, {"DateStyle", "ISO"}, {"TimeZone", "UTC"}} {
		set = append(set, "pg_catalog.set_config('"+of[0]+"', '"+of[1]+"', false)")
	}
	return "SELECT " + strings.Join(set, ", ")
}

// Opens implements host.Opener.
func (Dialer) Opens() []string { return []string{bounds()} }

func (s *session) bound(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, bounds()).ReadAll()
	return err
}

// Query implements host.Session. It uses the simple protocol, which gives all
// values as text.
func (s *session) Query(ctx context.Context, query string, limits host.QueryLimits) (host.Rows, error) {
	if limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limits.Time)
		defer cancel()
	}
	var out host.Rows
	results := s.conn.Exec(ctx, query)
	for results.NextResult() {
		Read(results.ResultReader(), limits, &out)
	}
	if err := results.Close(); err != nil {
		return out, meaning(err)
	}
	return out, nil
}

// Read adds the rows of a result, as far as the limits permit.
func Read(r *pgconn.ResultReader, limits host.QueryLimits, out *host.Rows) {
	for _, f := range r.FieldDescriptions() {
		out.Columns = append(out.Columns, f.Name)
	}
	size := 0
	for r.NextRow() { // past the limit the rest is read and dropped: the statement's time bounds it
		if limits.Rows > 0 && len(out.Values) >= limits.Rows || limits.Bytes > 0 && size >= limits.Bytes {
			out.Cut = true
			continue
		}
		row := make([]*string, len(r.Values()))
		for i, v := range r.Values() {
			if v != nil {
				text := string(v)
				row[i] = &text
				size += len(text)
			}
		}
		out.Values = append(out.Values, row)
	}
}

var _ host.Ender = (*session)(nil)

// Ended implements host.Ender: idle_session_timeout ends sessions, and so do poolers.
func (s *session) Ended() bool { return reach.Closed(s.conn.Conn()) }

// Close implements host.Session.
func (s *session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.conn.Close(ctx)
}

// said is an error of a server. Its message can quote what a statement has in it.
type said struct{ code, message string }

// Error implements error.
func (s said) Error() string { return s.message + " (SQLSTATE " + s.code + ")" }

// meaning puts a server's error into the words callers branch on.
func meaning(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		told := said{e.Code, e.Message}
		switch {
		case strings.HasPrefix(e.Code, "28"), e.Code == "3D000":
			return fmt.Errorf("%w: %w", host.ErrLogin, told)
		case e.Code == "42501":
			return fmt.Errorf("%w: %w", host.ErrDenied, told)
		case e.Code == "57014", e.Code == "55P03":
			return fmt.Errorf("%w: %w", context.DeadlineExceeded, told)
		case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "08"):
			return fmt.Errorf("%w: %w", host.ErrDown, told)
		}
		return told
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		if strings.Contains(e.Error(), "require_auth check failed") { // the driver has no other sign
			return fmt.Errorf("%w: %w", host.ErrLogin, ErrReadable)
		}
		return fmt.Errorf("%w: %s", host.ErrDown, Reason(e))
	}
	_, broken := errors.AsType[net.Error](err)
	if broken || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) { // a killed process says no more than that it is gone
		return fmt.Errorf("%w: %w", host.ErrDown, err)
	}
	return err
}

// Reason gives what went wrong without the driver's account of where: for a
// socket it names 127.0.0.1:5432, where nobody was asked.
func Reason(e *pgconn.ConnectError) string {
	first, _, _ := strings.Cut(e.Unwrap().Error(), "\n")
	for _, before := range []string{"dial error: ", "): "} {
		if _, said, ok := strings.Cut(first, before); ok {
			return said
		}
	}
	return first
}
