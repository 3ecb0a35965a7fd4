package sampler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/units"
)

// answer is what came of asking a source once.
type answer struct {
	batch series.Batch
	err   error
}

// sample asks one source at its pace until ctx ends. The pace is that of the
// monotonic clock; only where in a second it begins is the wall clock's.
func (r *run) sample(ctx context.Context, source sample.Source) {
	every := max(source.Every(), time.Second)
	due := time.Now()
	due = due.Add(due.Truncate(time.Second).Add(time.Second).Sub(due.Round(0))) // the next full second
	var hung chan answer                                                        // of a question that was not answered in time and is still asked
	var since time.Time
	for await.Pause(ctx, time.Until(due)) == nil {
		if hung != nil {
			select {
			case <-hung: // too late to be of use: what it says is of another moment
				hung = nil
			default:
				r.out.batch(late(source, fmt.Sprintf("no answer for %s", units.Span(time.Since(since).Round(time.Second)))))
			}
		}
		if hung == nil {
			since = time.Now()
			hung = r.ask(ctx, source, every)
		}
		due = next(due, time.Now(), every)
	}
}

// next is when a source is asked next: what was missed is not made up for.
func next(due, now time.Time, every time.Duration) time.Time {
	due = due.Add(every)
	if behind := now.Sub(due); behind > 0 {
		due = due.Add(behind.Truncate(every) + every)
	}
	return due
}

// deadline is how long an answer is waited for: most of the pace, so that it is
// there before the next one is due.
func deadline(every time.Duration) time.Duration { return min(every*9/10, 8*time.Second) }

// ask asks a source once, and hands on what it gives. When no answer is there
// at the deadline that is a gap, and what is left of the question is returned.
func (r *run) ask(ctx context.Context, source sample.Source, every time.Duration) chan answer {
	limit := deadline(every)
	asked, cancel := context.WithTimeout(ctx, limit)
	got := make(chan answer, 1)
	began := time.Now()
	go func() {
		defer cancel()
		got <- r.take(asked, source)
	}()
	timer := time.NewTimer(limit + 50*time.Millisecond) // one that obeys its context says itself what it was waiting for
	defer timer.Stop()
	select {
	case a := <-got:
		if ctx.Err() == nil {
			r.out.batch(finish(a, source, time.Since(began)))
		}
		return nil
	case <-timer.C:
		r.out.batch(late(source, fmt.Sprintf("no answer within %s", units.Span(limit))))
		return got
	case <-ctx.Done():
		return nil
	}
}

// take asks a source; one that panics is a gap and not the end of watching.
func (r *run) take(ctx context.Context, source sample.Source) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("a mistake in Plumb: %v at %.600s", p, debug.Stack())}
		}
	}()
	a.batch, a.err = source.Take(ctx, r.Host)
	r.markOwn(a.batch.Statements)
	return a
}

// markOwn marks the statements that we ran ourselves, by what we asked of servers. A
// client that begins its texts as ours are marked is not taken for us; one that sends
// the very words of a question of ours is, as servers count both as one statement.
func (r *run) markOwn(all []series.Statement) {
	for i := range all {
		all[i].Mark(r.Own)
	}
}

// finish fills in what a source leaves to its caller.
func finish(a answer, source sample.Source, took time.Duration) series.Batch {
	b := a.batch
	b.Source, b.Every, b.Took = source.Name(), source.Every(), took
	if a.err != nil {
		why := a.err.Error()
		if errors.Is(a.err, context.DeadlineExceeded) {
			why = fmt.Sprintf("no answer within %s: %s", units.Span(deadline(source.Every())), why)
		}
		b.Gaps = append(b.Gaps, series.Gap{Why: why, Hint: hint.Of(a.err)})
	}
	b.Sessions = b.Sessions[:min(len(b.Sessions), series.MostSessions)]
	b.Statements = b.Statements[:min(len(b.Statements), series.MostStatements)]
	return b
}

// late is the gap of a source that did not answer in time.
func late(source sample.Source, why string) series.Batch {
	return series.Batch{Source: source.Name(), Every: source.Every(), Gaps: []series.Gap{{Why: why}}}
}
