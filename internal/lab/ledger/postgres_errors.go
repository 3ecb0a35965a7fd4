package ledger

import (
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// explainPostgres adds a hint by SQLSTATE,
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func explainPostgres(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if kept := host.Withheld(err); kept != nil {
			return hint.With(kept, "PGPASSWORD gives it for this server")
		}
		if _, unreached := errors.AsType[*pgconn.ConnectError](err); unreached {
			return hint.With(err, "is the server running, and are the host and port right?")
		}
		return err
	}
	help := ""
	switch {
	case strings.HasPrefix(e.Code, "28"): // invalid authorization
		help = "a password may be in the file ~/.pgpass or in PGPASSWORD; pg_hba.conf on the server says who may log in from where"
	case e.Code == "3D000": // invalid_catalog_name
		help = "createdb makes the database"
	case e.Code == "42501": // insufficient_privilege
		help = "the first lab needs CREATE on the database, or a schema plumb_lab of its own; the labs that follow need the rights on its tables"
	case e.Code == "25006": // read_only_sql_transaction
		help = "this may be a standby: name the primary"
	case e.Code == "53100": // disk_full
		help = "the server's disk is full: make room"
	}
	return hint.With(err, help)
}

// passingPostgres tells whether the server may take the same a moment later: it
// is being restarted, failing over or out of connections, or the connection
// was lost.
func passingPostgres(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", // serialization_failure, deadlock_detected
			"53300",                   // too_many_connections
			"57P01", "57P02", "57P03": // admin_shutdown, crash_shutdown, cannot_connect_now
			return true
		}
		return strings.HasPrefix(e.Code, "08") // connection_exception
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[networkError](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// networkError is what errors of connections have in common.
type networkError interface {
	error
	Timeout() bool
	Temporary() bool
}
