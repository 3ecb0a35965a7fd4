package client

import (
	"context"
	"fmt"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/units"
)

// room is what a server has left for us.
type room struct {
	connections, used  int64 // max_connections, and how many are in use
	statements, inHand int64 // max_prepared_stmt_count, and how many are prepared
}

// Room implements load.Server.
func (s *Server) Room(ctx context.Context, sessions, statements int) error {
	a, err := s.Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	found, err := a.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_connections', 'max_prepared_stmt_count')")
	if err != nil {
		return err
	}
	used, err := a.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Prepared_stmt_count')")
	if err != nil {
		return err
	}
	value := map[string]int64{}
	for _, row := range append(found.Values, used.Values...) {
		if value[host.Text(row, 0)], err = strconv.ParseInt(host.Text(row, 1), 10, 64); err != nil {
			return fmt.Errorf("read %s: %w", host.Text(row, 0), err)
		}
	}
	r := room{value["max_connections"], value["Threads_connected"] - 1, value["max_prepared_stmt_count"], value["Prepared_stmt_count"]}
	if s.c.Text {
		statements = 0
	}
	return r.fits(int64(sessions), int64(statements))
}

// fits checks the numbers. One connection more than max_connections exists,
// for administrators; it is left to them.
func (r room) fits(sessions, statements int64) error {
	if free := r.connections - r.used; sessions > free {
		f := &load.Failure{Code: "1040", Doing: "open " + units.Count(sessions, "session"),
			Message: fmt.Sprintf("the server has room for %d: max_connections is %d, in use %d", max(free, 0), r.connections, r.used)}
		return hint.With(f, fmt.Sprintf("SET GLOBAL max_connections = %d, or use fewer threads", sessions+r.used+10))
	}
	need := sessions * statements
	if free := r.statements - r.inHand; need > free {
		f := &load.Failure{Code: "1461", Doing: fmt.Sprintf("prepare %s in each of %s, %d together", units.Count(statements, "statement"), units.Count(sessions, "session"), need),
			Message: fmt.Sprintf("the server has room for %d: max_prepared_stmt_count is %d, prepared %d", max(free, 0), r.statements, r.inHand)}
		return hint.With(f, fmt.Sprintf("SET GLOBAL max_prepared_stmt_count = %d, or use fewer threads or tables, or --db-ps-mode=disable",
			min(need+r.inHand+100, 1<<20)))
	}
	return nil
}
