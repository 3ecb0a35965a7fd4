package client

import (
	"context"
	"fmt"

	"plumb/internal/load"
)

// room is how many sessions a server has for us.
type room struct {
	limit    int64 // max_connections
	reserved int64 // of these, for others than us
	used     int64
}

func (r room) free() int64 { return max(0, r.limit-r.reserved-r.used) }

// Room implements load.Server. PostgreSQL has no limit of prepared
// statements: they take memory of their session.
func (s *Server) Room(ctx context.Context, sessions, _ int) error {
	a, err := s.Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	// Reserved slots are open to superusers, from 16 on also to members of
	// pg_use_reserved_connections; a load leaves both free. Our own connection
	// goes before the sessions come. Backends of replication do not count:
	// they have slots of their own since 12.
	rows, err := a.Query(ctx, `SELECT current_setting('max_connections'),
		current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true), '0')::int,
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())`)
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return &load.Failure{Doing: "ask for free connections", Message: fmt.Sprintf("%d rows answered, not one", len(rows.Values))}
	}
	row := rows.Values[0]
	r := room{number(row, 0), number(row, 1), number(row, 2)}
	return r.fits(int64(sessions))
}

func number(row []*string, i int) int64 { return parseInt([]byte(cell(row, i))) }

func (r room) fits(sessions int64) error {
	if sessions <= r.free() {
		return nil
	}
	f := &load.Failure{Code: "53300", Doing: fmt.Sprintf("open %d sessions", sessions),
		Message: fmt.Sprintf("the server has room for %d: max_connections is %d, %d are reserved, %d in use", r.free(), r.limit, r.reserved, r.used)}
	return withHint(f, fmt.Sprintf("use at most %d threads, or set max_connections to %d or more and restart the server",
		r.free(), sessions+r.reserved+r.used))
}
