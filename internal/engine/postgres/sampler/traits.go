package sampler

import (
	"context"
	"errors"
	"strconv"

	"plumb/internal/host"
)

// traits are what decides which questions a server understands, and whose
// answers mean something.
type traits struct {
	major     int
	block     float64 // bytes of a page
	timed     bool    // track_io_timing
	walTimed  bool    // track_wal_io_timing; false before 14
	super     bool    // we are a superuser
	extension string  // schema of pg_stat_statements; "" without it
	release   int     // of that extension: 1.10 is 110
	loaded    bool    // its library is loaded
}

const traitsQuery = `SELECT current_setting('server_version_num'), current_setting('block_size'), current_setting('track_io_timing'), ` +
	`current_setting('track_wal_io_timing', true), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), ` +
	`(SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'pg_stat_statements'), ` +
	`(SELECT extversion FROM pg_extension WHERE extname = 'pg_stat_statements'), ` +
	`current_setting('pg_stat_statements.max', true) IS NOT NULL`

// learn gives the traits of a server.
func (v *Server) learn(ctx context.Context, h host.Reader) (traits, error) {
	return v.learned.Get(func() (traits, error) { return v.askTraits(ctx, h) })
}

func (v *Server) askTraits(ctx context.Context, h host.Reader) (traits, error) {
	rows, err := v.Ask(ctx, h, traitsQuery)
	if err != nil {
		return traits{}, err
	}
	if len(rows.Values) != 1 {
		return traits{}, errors.New("the server does not tell its version")
	}
	return readTraits(rows.Values[0]), nil
}

func readTraits(row []*string) traits {
	at := func(i int) string { return host.Text(row, i) }
	version, _ := strconv.Atoi(at(0))
	t := traits{major: version / 10000, timed: at(2) == "on", walTimed: at(3) == "on", super: at(4) == "t", extension: at(5), release: releaseOf(at(6)), loaded: at(7) == "t"}
	t.block, _ = strconv.ParseFloat(at(1), 64)
	return t
}
