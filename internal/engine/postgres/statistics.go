package postgres

import (
	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// statistics asks everything that suits the version; what is refused or too
// slow leaves a gap and hides nothing.
func (l *look) statistics() {
	for _, q := range questions {
		if !q.suits(l.major) {
			if q.NewOnly && l.major < q.From || q.Gone && l.major >= q.Before {
				l.t.Absent("this release", q.Facts...)
			}
			continue
		}
		rows, ok := l.query(q.About, q.SQL, q.Facts...)
		if !ok || len(rows.Values) == 0 {
			continue
		}
		for i, name := range rows.Columns {
			l.measured(q, name, host.Cell(rows.Values[0], i))
		}
	}
	l.hidden()
	if l.major < 14 {
		l.gap("this release does not count the WAL it writes: pg_stat_wal is there since 14", "", "wal_bytes_per_hour", "wal_fpi_share", "wal_window", "wal_buffers_full")
	}
}

// hidden takes back what is not absent or little but not shown to this role: of
// what sessions, replicas and a receiver do, others are told only that they are there.
func (l *look) hidden() {
	replicas, _ := l.t.Int("replicas")
	receiver, _ := l.t.Bool("receiver_running")
	if _, all := l.t.Facts["connections_active"]; !all { // of other roles' sessions not even the kind is told, so what is counted by it is too little
		for _, name := range []string{"connections_used", "autovacuum_workers_busy"} {
			if f, counted := l.t.Facts[name]; counted {
				delete(l.t.Facts, name)
				l.gap(f.Source+" does not show it to this role", grantsHint, name)
			}
		}
	}
	for name, there := range map[string]bool{"replica_lag": replicas > 0, "receiver_status": receiver} {
		if f, known := l.t.Facts[name]; there && known && f.Value.IsAbsent() {
			delete(l.t.Facts, name)
			l.gap(f.Source+" does not show it to this role", grantsHint, name)
		}
	}
}

func (l *look) measured(q question, name string, value *string) {
	f := l.catalog.Fact("postgres", name)
	switch {
	case f == nil:
		l.gap("the fact "+name+" is not declared", "this is a bug in Plumb", name)
	case value == nil && q.Absent:
		l.t.SetAbsent(name, q.About)
	case value == nil && q.Untold != "":
		l.gap(q.Untold, q.Hint, name)
	case value == nil:
		l.gap(q.About+" does not show it to this role", grantsHint, name)
	case f.Type == catalog.Bool:
		b, ok := ParseBool(*value)
		if ok {
			l.t.Set(name, stack.Bool(b), q.About)
		}
	default:
		v, err := catalog.ParseValue(f, *value)
		if err != nil {
			l.gap(q.About+": "+err.Error(), "", name)
			return
		}
		l.t.Set(name, v, q.About)
	}
}
