// Package bulk knows which settings the documentation of MySQL and MariaDB names for a bulk
// load, as far as they can be set and taken back while the server runs.
package bulk

import (
	"fmt"
	"time"

	"plumb/internal/product"
	"plumb/internal/provision/boost"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Loader implements boost.Loader.
type Loader struct{}

var _ boost.Loader = Loader{}

// Kind implements boost.Loader.
func (Loader) Kind() string { return product.MySQL }

// Settings implements boost.Loader. ALTER INSTANCE DISABLE INNODB REDO_LOG and the doublewrite
// buffer are left alone: a crash without them can cost the whole instance.
func (Loader) Settings(_ *stack.Stack, t *stack.Thing) []boost.Setting {
	all := []boost.Setting{{Knob: "innodb_flush_log_at_trx_commit", To: stack.Int(2), Why: "redo is flushed once a second and not at each commit"}}
	if now, known := t.Int("innodb_flush_log_at_trx_commit"); known && now != 1 && now != 3 {
		all[0].Kept = fmt.Sprintf("it is %d already, which waits for no disk", now)
	}
	binlog := boost.Setting{Knob: "sync_binlog", To: stack.Int(0), Why: "the system decides when the binary log is written to disk"}
	switch on, known := t.Bool("log_bin"); {
	case known && !on:
		binlog.Kept = "there is no binary log"
	case !known:
		binlog.Kept = "whether there is a binary log could not be read"
	}
	return append(all, binlog, pages(t))
}

// pages lets background flushing do what it may do at most anyway.
func pages(t *stack.Thing) boost.Setting {
	s := boost.Setting{Knob: "innodb_io_capacity", Why: "background flushing may do at once what innodb_io_capacity_max lets it do when it falls behind"}
	now, known := t.Int("innodb_io_capacity")
	most, bounded := t.Int("innodb_io_capacity_max")
	switch {
	case !known || !bounded:
		s.Kept = "it could not be read"
	case most <= now:
		s.Kept = fmt.Sprintf("it is at innodb_io_capacity_max, %d, already", most)
	default:
		s.To = stack.Int(most)
	}
	return s
}

// Loss implements boost.Loader.
func (Loader) Loss(t *stack.Thing) []string {
	every := "about a second"
	if n, known := t.Int("innodb_flush_log_at_timeout"); known {
		every = units.Span(time.Duration(n) * time.Second)
	}
	loss := []string{"if the machine goes down, the commits of the last " + every + " (innodb_flush_log_at_timeout); nothing if only the server does"}
	if on, _ := t.Bool("log_bin"); on {
		loss = append(loss, "if the machine goes down, also what the binary log had not on disk, which can be more, and other commits than those that the tables lost: replicas may have to be rebuilt")
	}
	if n, known := t.Int("innodb_redo_log_capacity"); known && n < 1<<30 {
		loss = append(loss, fmt.Sprintf("nothing, but a load would go faster with more redo than %s (innodb_redo_log_capacity); making it smaller again takes its time, so it is left alone", units.Bytes(n)))
	}
	return loss
}

// After implements boost.Loader.
func (Loader) After() []string {
	return []string{"ANALYZE TABLE each table that was loaded: the old sampled statistics are far off until then"}
}
