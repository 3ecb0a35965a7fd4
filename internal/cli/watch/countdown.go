package watch

import (
	"context"
	"fmt"
	"io"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/units"
)

// waiting shows on a terminal for how long watch still looks, until end is called.
// Anywhere else it shows nothing, as nobody wants a line each second in a log.
func waiting(ctx context.Context, s *shell.Shell, span time.Duration) (end func()) {
	if !shell.IsTerminal(s.Err) {
		return func() {}
	}
	own, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		countdown(own, s.Err, span)
	}()
	return func() { cancel(); <-done }
}

// countdown rewrites one line every second, and clears it when the context ends.
func countdown(ctx context.Context, to io.Writer, span time.Duration) {
	began, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	defer shell.Rewrite(to, "")
	for {
		text := "watching this host: preparing the answer"
		if left := (span - time.Since(began)).Round(time.Second); left > 0 {
			text = fmt.Sprintf("watching this host for %s · %s left", units.Span(span), units.Span(left))
		}
		shell.Rewrite(to, text)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
