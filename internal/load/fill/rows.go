package fill

import (
	"context"
	"sync"

	"plumb/internal/load"
	"plumb/internal/units"
)

// attempts at a range that the server refused for a reason that passes, such
// as a deadlock.
const attempts = 5

// rowJobs makes the jobs that fill all tables, each with what follows when it
// is full.
func (l *loader) rowJobs() *queue {
	q := newQueue(nil)
	for _, t := range l.bySize() {
		var mu sync.Mutex
		ranges := split(t.open, max(1, int64(float64(l.o.Range)/max(1, t.perUnit))))
		if t.pending = len(ranges); t.pending == 0 {
			q.ready = append(q.ready, l.after(t))
		}
		for _, r := range ranges {
			q.ready = append(q.ready, func(ctx context.Context, s *session) error {
				sum, err := l.fillRange(ctx, s, t, r)
				if err != nil {
					return err
				}
				mu.Lock()
				t.sent.add(sum)
				t.pending--
				full := t.pending == 0
				mu.Unlock()
				if full {
					q.first(l.after(t))
				}
				return nil
			})
		}
	}
	return q
}

// fillRange sends a range with its note.
func (l *loader) fillRange(ctx context.Context, s *session, t *table, r span) (tally, error) {
	l.meter.at("rows", t.Name)
	for attempt := 1; ; attempt++ {
		sum, err := l.sendRange(ctx, s, t, r)
		if err == nil || attempt == attempts || !hasClass(err, load.Retry) {
			return sum, err
		}
	}
}

func (l *loader) sendRange(ctx context.Context, s *session, t *table, r span) (tally, error) {
	from := &reader{ctx: ctx, t: t, next: r.lo, to: r.hi, sum: t.newTally()}
	from.onRead = func(n int64) { l.meter.bytes.Add(n) }
	n := note{kind: kindRange, name: t.Name, lo: r.lo, hi: r.hi}
	taken, err := s.Fill(ctx, t.Name, t.Columns, from, n.insert(l.p.Workload))
	if err != nil {
		l.meter.bytes.Add(-from.sum.bytes)
		return tally{}, err
	}
	if taken != from.sum.rows {
		return tally{}, hinted("cleanup and prepare again; look for warnings in the server's log",
			"fill %s: %s sent, %d taken", t.Name, units.Counted(from.sum.rows, "row", "was", "were"), taken)
	}
	l.meter.took(taken)
	return from.sum, nil
}

// after gives the job that makes what follows the rows of a table.
func (l *loader) after(t *table) job {
	return func(ctx context.Context, s *session) error {
		for i, query := range t.After {
			if t.steps[int64(i)] {
				continue
			}
			l.meter.at("indexes", t.Name)
			if err := l.step(ctx, s, note{kind: kindStep, name: t.Name, lo: int64(i), hi: int64(i)}, query); err != nil {
				return err
			}
		}
		return nil
	}
}

// step runs a statement and notes it. Some servers do both or none; others may
// be ended between the two, and then find the index there.
func (l *loader) step(ctx context.Context, s *session, n note, query string) error {
	if l.sql.Transactional {
		err := s.Exec(ctx, "BEGIN", query, n.insert(l.p.Workload), "COMMIT")
		if err != nil {
			_ = s.Exec(ctx, "ROLLBACK") // err says more
		}
		return err
	}
	if err := s.Exec(ctx, query); err != nil && !(l.resumed && hasCode(err, madeCodes)) {
		return err
	}
	return s.Exec(ctx, n.insert(l.p.Workload))
}
