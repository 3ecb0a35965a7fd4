package client

import (
	"context"
	"fmt"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/units"
)

// room is one limit of connections.
type room struct {
	limit    int64 // negative for none
	reserved int64 // of these, for others than us
	used     int64
	name     string // "max_connections"
	raise    string // how to raise it to a number
}

func (r room) free() int64 { return max(0, r.limit-r.reserved-r.used) }

// roomQuery asks for the limits of the server, the database and the role, and
// what is in use of each, which gives other users' sessions too. Reserved
// slots are open to superusers, from 16 on some also to members of
// pg_use_reserved_connections: a load leaves all of them free. Our own
// connection goes before the sessions come. Backends of replication have
// slots of their own since 12, background workers always had.
const roomQuery = `WITH a AS (SELECT datname, usename FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())
SELECT current_setting('max_connections'),
 current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true), '0')::int,
 (SELECT count(*) FROM a),
 (SELECT datconnlimit FROM pg_database WHERE datname = current_database()),
 (SELECT count(*) FROM a WHERE datname = current_database()),
 (SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END FROM pg_roles WHERE rolname = session_user),
 (SELECT count(*) FROM a WHERE usename = session_user),
 current_setting('is_superuser')`

// Room implements load.Server. PostgreSQL has no limit of prepared
// statements: they take memory of their session.
func (s *Server) Room(ctx context.Context, sessions, _ int) error {
	a, err := s.Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	rows, err := a.Query(ctx, roomQuery)
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return &load.Failure{Doing: "ask for free connections", Message: fmt.Sprintf("%d rows answered, not one", len(rows.Values))}
	}
	row := rows.Values[0]
	limits := []room{
		{number(row, 0), number(row, 1), number(row, 2), "max_connections", "set max_connections to %d or more and restart the server"},
		{number(row, 3), 0, number(row, 4), "the connection limit of database " + s.c.Database, "ALTER DATABASE " + s.c.Database + " CONNECTION LIMIT %d"},
		{number(row, 5), 0, number(row, 6), "the connection limit of role " + s.c.User, "ALTER ROLE " + s.c.User + " CONNECTION LIMIT %d"},
	}
	if host.Text(row, 7) == "on" { // superusers are bound by the first alone
		limits = limits[:1]
	}
	return fits(limits, int64(sessions))
}

func number(row []*string, i int) int64 { return parseInt([]byte(host.Text(row, i))) }

// fits says by how much sessions are too many for one of the limits.
func fits(limits []room, sessions int64) error {
	for _, r := range limits {
		if r.limit < 0 || sessions <= r.free() {
			continue
		}
		f := &load.Failure{Code: "53300", Doing: "open " + units.Count(sessions, "session"),
			Message: fmt.Sprintf("the server has room for %d: %s is %d, reserved %d, in use %d", r.free(), r.name, r.limit, r.reserved, r.used)}
		return hint.With(f, fmt.Sprintf("use at most %s, or "+r.raise, units.Count(r.free(), "thread"), sessions+r.reserved+r.used))
	}
	return nil
}
