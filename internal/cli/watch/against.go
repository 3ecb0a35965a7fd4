package watch

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/hint"
	"plumb/internal/units"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// against compares the statements of the minutes before a moment with those before another one.
type against struct{ now, then *watch.StatementSpan }

// newAgainst makes an against that has seen nothing yet. long is the length of each of the two spans.
func newAgainst(at, other time.Time, long time.Duration) (*against, error) {
	if apart := at.Sub(other).Abs(); apart < long {
		return nil, hint.Usage(fmt.Sprintf("the %s before --at and before --against overlap", units.Span(long)), "take moments that are further apart, or a shorter --before")
	}
	return &against{watch.NewStatementSpan(at.Add(-long), at), watch.NewStatementSpan(other.Add(-long), other)}, nil
}

// take adds what is recorded of either span.
func (a *against) take(i record.Item) {
	if a != nil && i.Batch != nil {
		a.now.Batch(*i.Batch)
		a.then.Batch(*i.Batch)
	}
}

// read adds what is recorded of the other span.
func (a *against) read(ctx context.Context, r *record.Reader) error {
	if a == nil {
		return nil
	}
	return r.Each(ctx, a.then.From, a.then.To, func(i record.Item) error { a.take(i); return nil })
}

// compare adds to a moment what its servers' statements cost compared with the other span. It returns the servers for which that is not known.
func (a *against) compare(m *watch.Moment, by watch.Order) (notes []string, err error) {
	if a == nil {
		return nil, nil
	}
	some := false
	for i, s := range m.Servers {
		if a.now.Knows(s.Ref) && a.then.Knows(s.Ref) {
			m.Servers[i].Statements, some = a.now.Changes(s.Ref, a.then, by), true
			continue
		}
		m.Servers[i].Statements = nil
		notes = append(notes, fmt.Sprintf("the statements of %s were not read twice in both spans, so they are not compared", s.Ref))
	}
	if !some {
		return nil, hint.With(fmt.Errorf("no statements are recorded of the %s before %s and before %s", units.Span(a.now.To.Sub(a.now.From)), shown(a.now.To), shown(a.then.To)),
			"plumb watch replay lists what is recorded; --before takes longer spans")
	}
	return append(notes, fmt.Sprintf("statements are those from %s to %s, compared with those from %s to %s",
		shown(a.now.From), shown(a.now.To), shown(a.then.From), shown(a.then.To))), nil
}
