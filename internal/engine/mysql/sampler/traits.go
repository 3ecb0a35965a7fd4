package sampler

import (
	"context"
	"errors"
	"strconv"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/product"
)

// traits are what decides which questions a server understands.
type traits struct {
	flavor, version string
	page            float64 // bytes of a page
	schema          bool    // performance_schema is on
	waits           bool    // and so are the consumer and the instruments that tell what a session waits for
	current         bool    // and the consumer of statements that run
	latches         bool    // and instruments of InnoDB's latches
	pool            bool    // sessions share a pool of threads
}

const (
	traitsQuery    = "SELECT @@version, @@version_comment, @@innodb_page_size, @@performance_schema, @@thread_handling"
	consumersQuery = "SELECT NAME, ENABLED FROM performance_schema.setup_consumers " +
		"WHERE NAME IN ('events_waits_current', 'events_statements_current', 'global_instrumentation', 'thread_instrumentation') " +
		"UNION ALL SELECT 'latches', IF(COUNT(*) > 0, 'YES', 'NO') FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' " +
		"AND (NAME LIKE 'wait/synch/mutex/innodb/%' OR NAME LIKE 'wait/synch/sxlock/innodb/%' OR NAME LIKE 'wait/synch/rwlock/innodb/%')"
)

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
	row := rows.Values[0]
	var t traits
	t.flavor, t.version = mysql.Identify(host.Text(row, 0), host.Text(row, 1))
	t.page, _ = strconv.ParseFloat(host.Text(row, 2), 64)
	t.schema = host.Text(row, 3) == "1"
	handling := host.Text(row, 4)
	t.pool = handling != "" && handling != "one-thread-per-connection"
	if t.schema {
		if err := v.consumers(ctx, h, &t); err != nil {
			return traits{}, err
		}
	}
	return t, nil
}

func (v *Server) consumers(ctx context.Context, h host.Reader, t *traits) error {
	rows, err := v.Ask(ctx, h, consumersQuery)
	if errors.Is(err, host.ErrDenied) {
		t.schema = false // what cannot be read is as good as off; the statements' source says why
		return nil
	}
	if err != nil {
		return err
	}
	on := map[string]bool{}
	for _, row := range rows.Values {
		on[host.Text(row, 0)] = host.Text(row, 1) == "YES"
	}
	all := on["global_instrumentation"] && on["thread_instrumentation"]
	t.waits, t.current = all && on["events_waits_current"], all && on["events_statements_current"]
	t.latches = t.waits && on["latches"]
	return nil
}

// mariadb tells MariaDB from the others, whose system tables differ.
func (t traits) mariadb() bool { return t.flavor == product.MariaDB }

// lockTable reports whether the locks are in the performance schema.
func (t traits) lockTable() bool { return !t.mariadb() && mysql.AtLeast(t.version, "8.0.1") }
