package ledger

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestPassingPostgres(t *testing.T) {
	for _, c := range []struct {
		err     error
		passing bool
	}{
		{fmt.Errorf("keep: %w", driver.ErrBadConn), true}, // a session that was told to stop, and had gone before the next use
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{io.ErrUnexpectedEOF, true},
		{&pgconn.PgError{Code: "42501"}, false},
		{errors.New("another"), false},
	} {
		if got := passingPostgres(c.err); got != c.passing {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
