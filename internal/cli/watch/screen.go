package watch

import (
	"context"
	"os"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/tui"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// blind is a sink that looks at nothing: who embeds it only wants the verdicts.
type blind struct{}

// Picture implements [watch.Sink].
func (blind) Picture(time.Time, *stack.Stack) {}

// Batch implements [watch.Sink].
func (blind) Batch(series.Batch) {}

// teller is a sink that shows the verdicts.
type teller struct {
	blind
	show func(watch.Moment) error
}

// Moment implements [feed.Told]. What cannot be shown is not: the next one may be.
func (t *teller) Moment(m watch.Moment) { _ = t.show(m) }

// shower is a teller that also shows answers to what a person asks.
type shower struct {
	asking
	show func(watch.Moment) error
}

// Moment implements [feed.Told]. What cannot be shown is not: the next one may be.
func (s *shower) Moment(m watch.Moment) { _ = s.show(s.with(m)) }

// runScreen shows the verdicts until a person ends it: as a screen on a terminal that can
// be drawn on, and as lines anywhere else.
func runScreen(ctx context.Context, s *shell.Shell, from feed.Feed, src shell.Source, powerful bool) error {
	cat := feed.Windows(s)
	if !shell.IsTerminal(s.Out) || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return runLines(ctx, s, from, src, cat)
	}
	own, cancel := context.WithCancel(ctx)
	moments, done := make(chan watch.Moment), make(chan struct{})
	var ended error
	sink := &shower{asking{powerful: powerful}, func(m watch.Moment) error {
		select {
		case moments <- m:
		case <-own.Done():
		}
		return nil
	}}
	go func() {
		defer close(done)
		defer close(moments)
		ended = from(own, src, sink)
	}()
	err := tui.Run(own, tui.Terminal{In: s.In, Out: shell.FileOf(s.Out), Screen: shell.Screen(s.Out)}, cat, moments,
		tui.Answers{Ended: func() error { return ended }, Plan: func(server, id string) series.Plan { return sink.plan(own, server, id) }})
	cancel()
	<-done
	return err
}

// runLines writes a line each time what limits a server changes.
func runLines(ctx context.Context, s *shell.Shell, from feed.Feed, src shell.Source, cat *catalog.Catalog) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var before *view.Board
	err := from(own, src, &teller{show: func(m watch.Moment) error {
		b := view.MakeBoard(m, cat)
		if err := s.Print(tui.Lines(before, b, shell.Screen(s.Out))); err != nil {
			cancel(err) // nobody reads it any more
		}
		before = &b
		return nil
	}})
	if ctx.Err() == nil && own.Err() != nil {
		return context.Cause(own)
	}
	return err
}
