package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/trust"
)

// Server is a database that can be put under load. The engine packages
// implement it.
type Server interface {
	// Engine is "mysql" (also for MariaDB and Percona Server) or "postgres".
	Engine() string
	// Open connects one session for the hot path.
	Open(ctx context.Context) (Session, error)
	// Admin connects one session for everything else: making tables, filling
	// them, asking questions. It may be slow.
	Admin(ctx context.Context) (Admin, error)
	// About reads from the running server what a reader of results must know.
	About(ctx context.Context) (About, error)
	// Room checks before a run that the server will allow so many sessions
	// with so many prepared statements each, and says what to do otherwise.
	Room(ctx context.Context, sessions, statements int) error
}

// Login says how to reach a server and how its sessions behave.
type Login struct {
	Network    string        // "unix" or "tcp"
	Address    string        // path of the socket file, or host:port
	User       string        //
	Password   string        //
	Database   string        // "" for PostgreSQL's: the one named as the user
	TLS        *tls.Config   // nil for none; MySQL's sessions then run on the driver, which costs more of the client
	Text       bool          // the text protocol with the parameters written in, instead of prepared statements
	RetryCodes []string      // errors that go away by trying again; nil for those of sysbench
	Timeout    time.Duration // for connecting, with logging in; 0: 10 s
	Isolation  string        // "read committed", …; "" leaves the server's default
	PeerUID    int           // connect to a socket as this operating-system user, where we are root; 0 for ourselves
	Secret     trust.Secret  // where the password was found; the zero value when it was given for this server
}

// Verified tells whether nobody can pass for the server.
func (l Login) Verified() bool { return l.TLS != nil && !l.TLS.InsecureSkipVerify }

// About is what a result says of the server it was measured on.
type About struct {
	Product   string    // "MariaDB", "MySQL", "Percona Server", "PostgreSQL"
	Version   string    //
	Address   string    // socket or host:port, without any password
	Database  string    //
	Isolation string    // "READ COMMITTED", as the sessions of the load have it
	Local     bool      // on this machine
	Settings  []Setting // those that decide durability and memory, as the server has them now
}

// Values reads an answer of names and values, and gives those of some names as
// settings, in their order.
func Values(rows host.Rows, names []string) (value map[string]string, settings []Setting) {
	value = map[string]string{}
	for _, row := range rows.Values {
		value[host.Text(row, 0)] = host.Text(row, 1)
	}
	for _, name := range names {
		if v, ok := value[name]; ok {
			settings = append(settings, Setting{Name: name, Value: v})
		}
	}
	return value, settings
}

// Setting is one value as the running server gave it.
type Setting struct{ Name, Value string }

// Session is one connection in the hot path. It belongs to one goroutine and
// allocates nothing per call once warm.
//
// In every text a ? outside quotes stands for a parameter, whatever the
// engine's own sign is. Errors are [*Failure]s. After a Retry failure the
// caller rolls back and begins again.
type Session interface {
	// Prepare makes a statement ready and gives its number. Sessions set to
	// the text protocol only remember it.
	Prepare(query string) (int, error)
	// Run executes a prepared statement and reads its whole answer, which
	// stays readable until the next call.
	Run(statement int, args []Arg) error
	// Text executes a statement without parameters by the text protocol:
	// BEGIN, COMMIT, a statement too varied to prepare.
	Text(query []byte) error
	// Affected is the number of rows the last statement changed.
	Affected() int64
	// HadRows reports whether the last statement gives rows, even if none.
	HadRows() bool
	// Next steps to the next row of the last answer; false after the last.
	Next() bool
	// Int gives a column of the row as a whole number: 0 for NULL.
	Int(column int) int64
	// Bytes gives a column of the row as text, valid until the next call of
	// Run or Text: nil for NULL. Decimals come as the server prints them.
	Bytes(column int) []byte
	// Close may be called while another method runs, and ends it.
	Close() error
}

// Arg is one parameter: a number, a text, or NULL.
type Arg struct {
	Kind ArgKind
	Num  int64
	Str  []byte // not kept after the call
}

// ArgKind tells which field of an Arg counts.
type ArgKind uint8

// Kinds of parameters.
const (
	Null ArgKind = iota
	Number
	String // also decimals and times, as text
)

// Int makes a number.
func Int(n int64) Arg { return Arg{Kind: Number, Num: n} }

// Str makes a text.
func Str(b []byte) Arg { return Arg{Kind: String, Str: b} }

// Admin is one connection for all that is not the hot path. Errors are
// [*Failure]s.
type Admin interface {
	// Exec runs statements one after the other.
	Exec(ctx context.Context, statements ...string) error
	// Query runs one statement and gives its whole answer as text.
	Query(ctx context.Context, query string) (host.Rows, error)
	// Fill appends rows to a table and runs the statements of after in the
	// same transaction, so that a note "these rows are in" is true exactly
	// when they are. Rows are lines of tab-separated fields as COPY and LOAD
	// DATA both read them: \N is NULL; tab, newline and backslash in a field
	// are escaped with a backslash. It gives the number of rows.
	Fill(ctx context.Context, table string, columns []string, rows io.Reader, after ...string) (int64, error)
	Close() error
}

// Source keeps the error of a reader of rows, so that it can be told from the
// server's.
type Source struct {
	io.Reader
	Err error
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.Err = err
	}
	return n, err
}
