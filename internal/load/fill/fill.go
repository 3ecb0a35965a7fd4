package fill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/load"
	"plumb/internal/product"
)

// loader carries a plan out.
type loader struct {
	s       load.Server
	sql     *product.Dialect
	p       Plan
	o       Options
	tables  []*table
	steps   map[int64]bool // of Links, done
	resumed bool
	meter   meter
}

// Fill carries a plan out, or goes on with it where an earlier attempt was
// ended. Tables of another plan, or of somebody else, are an error and are
// not touched. Whatever ends it, what is in stays and is taken up by the next
// attempt; errors have a hint that says so.
func Fill(ctx context.Context, s load.Server, p Plan, o Options) (Report, error) {
	l, err := newLoader(s, p, o)
	if err != nil {
		return Report{}, err
	}
	l.sql = product.DialectOf(s.Engine())
	// The session ends with ctx, or with the end of all.
	lead, err := l.session(ctx)
	if err != nil {
		return Report{}, err
	}
	defer lead.close()
	done, err := l.take(ctx, lead)
	if err != nil {
		return Report{}, err
	}
	defer l.meter.show(o.Progress)()
	if !done {
		err = l.carryOut(ctx, lead)
	} else if o.Verify == Content {
		err = l.finish(ctx, l.verify)
	}
	r := l.report()
	if err != nil {
		return r, stopped(ctx, err)
	}
	return r, nil
}

func newLoader(s load.Server, p Plan, o Options) (*loader, error) {
	o.Workers = cmp.Or(o.Workers, 4)
	o.Range = cmp.Or(o.Range, 16<<20)
	if o.Workers < 1 || o.Workers > 1000 || o.Range < 1 {
		return nil, fmt.Errorf("load with %d workers and ranges of %d bytes: neither can be", o.Workers, o.Range)
	}
	l := &loader{s: s, p: p, o: o, steps: map[int64]bool{}}
	for _, v := range append([]load.Setting{{Name: p.Workload, Value: "-"}}, p.Settings...) {
		if v.Name == "" || len(v.Name) > 32 || len(v.Value) > 1000 || strings.ContainsAny(v.Name+v.Value, "\\") {
			return nil, fmt.Errorf("setting %q of the plan cannot be noted", v.Name)
		}
	}
	for _, t := range p.Tables {
		known, err := prepared(t)
		if err != nil {
			return nil, err
		}
		l.tables = append(l.tables, known)
		l.meter.of += int64(known.size())
	}
	l.meter.began = time.Now()
	return l, nil
}

// carryOut does what is not done yet.
func (l *loader) carryOut(ctx context.Context, lead *session) error {
	if err := l.work(ctx, l.rowJobs()); err != nil {
		return err
	}
	l.meter.at("foreign keys", "")
	for i, query := range l.p.Links {
		if l.steps[int64(i)] {
			continue
		}
		if err := l.step(ctx, lead, note{kind: kindStep, name: links, lo: int64(i), hi: int64(i)}, query); err != nil {
			return err
		}
	}
	if err := l.finish(ctx, l.statistics, l.verify); err != nil {
		return err
	}
	return lead.Exec(ctx, note{kind: kindDone}.insert(l.p.Workload))
}

// finish does these for each table, several tables at once.
func (l *loader) finish(ctx context.Context, steps ...func(context.Context, *session, *table) error) error {
	var jobs []job
	for _, t := range l.bySize() {
		jobs = append(jobs, func(ctx context.Context, s *session) error {
			for _, step := range steps {
				if err := step(ctx, s, t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return l.work(ctx, newQueue(jobs))
}

// bySize gives the tables, the largest first: what takes longest must not
// begin last.
func (l *loader) bySize() []*table {
	all := slices.Clone(l.tables)
	slices.SortStableFunc(all, func(a, b *table) int { return cmp.Compare(b.size(), a.size()) })
	return all
}

func (l *loader) statistics(ctx context.Context, s *session, t *table) error {
	l.meter.at("statistics", t.Name)
	_, err := s.Query(ctx, l.sql.Analyze+t.Name)
	return err
}

func (l *loader) report() Report {
	r := Report{Resumed: l.resumed, Bytes: l.meter.bytes.Load() - l.meter.earlier, Filled: l.meter.filled, Elapsed: time.Since(l.meter.began), Verified: l.o.Verify}
	for _, t := range l.tables {
		r.Rows += t.sent.rows
		r.Tables = append(r.Tables, TableReport{Name: t.Name, Rows: t.sent.rows, Checksum: t.checksum})
	}
	return r
}
