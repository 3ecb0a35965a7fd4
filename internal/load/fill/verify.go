package fill

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/units"
)

const differ = "cleanup and prepare again; the server's log may say why"

// verify asks the server for what it holds of a table and compares.
func (l *loader) verify(ctx context.Context, s *session, t *table) error {
	if l.o.Verify == Nothing {
		return nil
	}
	l.meter.at("verifying", t.Name)
	want, err := l.expected(ctx, t)
	if err != nil {
		return err
	}
	query := "SELECT COUNT(*)"
	for _, name := range t.sumNames {
		query += ", COALESCE(SUM(" + name + "), 0)"
	}
	if l.o.Verify == Content {
		query += ", " + checksumExpression(l.sql, t.Columns)
	}
	rows, err := s.Query(ctx, query+" FROM "+t.Name)
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return fmt.Errorf("verify %s: %d rows answered, not one", t.Name, len(rows.Values))
	}
	got := rows.Values[0]
	if n := host.Text(got, 0); n != fmt.Sprint(want.rows) {
		return hinted(differ, "verify %s: its number of rows is %s, but %s sent", t.Name, n, units.Counted(want.rows, "row", "was", "were"))
	}
	for i, name := range t.sumNames {
		if sum := host.Text(got, 1+i); sum != fmt.Sprint(want.sums[i]) {
			return hinted(differ, "verify %s: the sum of %s is %s, but %d for the rows that were sent", t.Name, name, sum, want.sums[i])
		}
	}
	if l.o.Verify == Content {
		sum := modulo(host.Text(got, 1+len(t.sumNames)))
		if sum != want.hash {
			return hinted(differ, "verify %s: the checksum over all rows is %016x, of what was sent it is %016x", t.Name, sum, want.hash)
		}
		t.checksum = fmt.Sprintf("%016x", sum)
	}
	return nil
}

// expected gives what a full table comes to. What this attempt sent is known;
// the rest is made again, without a server.
func (l *loader) expected(ctx context.Context, t *table) (tally, error) {
	again := t.earlier
	sum := t.newTally()
	var hash func([]byte) uint64
	if l.o.Verify == Content {
		again, hash = []span{{0, t.Units}}, l.sql.Hash
	} else {
		sum.add(t.sent)
	}
	if len(again) > 0 {
		more, err := t.tally(ctx, again, hash)
		if err != nil {
			return tally{}, err
		}
		sum.add(more)
	}
	t.sent = sum
	return sum, nil
}

// tally measures units without sending them, on all processors.
func (t *table) tally(ctx context.Context, spans []span, hash func([]byte) uint64) (tally, error) {
	ranges := split(spans, max(1, int64(4<<20/max(1, t.perUnit))))
	total := t.newTally()
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, r := range ranges {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			from := &reader{ctx: ctx, t: t, next: r.lo, to: r.hi, sum: t.newTally()}
			for from.next < from.to && ctx.Err() == nil {
				from.fill()
				if hash != nil {
					from.sum.hash += hashLines(from.buf, hash)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(from.sum)
		})
	}
	group.Wait()
	return total, context.Cause(ctx)
}

// checksumExpression sums a hash of each row's text, with fields joined by
// tabs and \N for NULL, as Row writes them.
func checksumExpression(sql *product.Dialect, columns []string) string {
	var fields []string
	for _, c := range columns {
		fields = append(fields, fmt.Sprintf(sql.HashField, c))
	}
	return fmt.Sprintf(sql.HashRows, strings.Join(fields, ", "))
}
