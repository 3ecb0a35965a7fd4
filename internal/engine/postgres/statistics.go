package postgres

import (
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// question is a query of one row whose columns are named after the facts they
// become. From and before bound the major versions it is for. Rates are since
// the counters were reset, which a *_window fact tells.
type question struct {
	about        string
	from, before int // 0: no bound
	sql          string
	facts        []string
	absent       bool   // NULL means that there is no such thing, not that it is unknown
	newOnly      bool   // releases before from have nothing of the kind
	gone         bool   // releases from before on have nothing of the kind
	untold, hint string // why NULL is unknown, and what to do; "" when the role is not allowed to see it
}

func (q question) suits(major int) bool {
	return (q.from == 0 || major >= q.from) && (q.before == 0 || major < q.before)
}

// statistics asks everything that suits the version; what is refused or too
// slow leaves a gap and hides nothing.
func (l *look) statistics() {
	for _, q := range questions() {
		if !q.suits(l.major) {
			if q.newOnly && l.major < q.from || q.gone && l.major >= q.before {
				for _, name := range q.facts {
					l.t.SetAbsent(name, "this release")
				}
			}
			continue
		}
		rows, ok := l.query(q.about, strings.Join(strings.Fields(q.sql), " "), q.facts...)
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

// hidden takes back what is not absent but not shown to this role: of what
// replicas and a receiver do, others are told only that they are there.
func (l *look) hidden() {
	replicas, _ := l.t.Int("replicas")
	receiver, _ := l.t.Bool("receiver_running")
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
	case value == nil && q.absent:
		l.t.SetAbsent(name, q.about)
	case value == nil && q.untold != "":
		l.gap(q.untold, q.hint, name)
	case value == nil:
		l.gap(q.about+" does not show it to this role", grantsHint, name)
	case f.Type == catalog.Bool:
		b, ok := ParseBool(*value)
		if ok {
			l.t.Set(name, stack.Bool(b), q.about)
		}
	default:
		v, err := catalog.ParseValue(f, *value)
		if err != nil {
			l.gap(q.about+": "+err.Error(), "", name)
			return
		}
		l.t.Set(name, v, q.about)
	}
}
