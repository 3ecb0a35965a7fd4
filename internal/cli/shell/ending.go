package shell

import (
	"context"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"plumb/internal/host"
	"plumb/internal/host/self"
)

// Ending makes the context of a command. Any signal that asks the program to end
// cancels it, so that the command removes what it made. A second Ctrl-C
// ends the program at once, in case something hangs. Other signals are ignored
// from then on: a terminal that is closed and timeout(1) send theirs twice, and the
// second one must not stop the command from cleaning up.
func Ending() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan os.Signal, 16)
	signal.Notify(asked, host.EndSignals()...)
	go func() {
		if _, ok := <-asked; ok {
			signal.Reset(os.Interrupt)
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(asked)
		close(asked)
		cancel()
	}
}

// Outlive keeps a command alive when nobody reads its output any more, and cancels its context: it makes things,
// and must remove them. Without this a write to a broken pipe ends a program at once.
func Outlive(c *cobra.Command) {
	ctx, cancel := context.WithCancel(c.Context())
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, host.BrokenPipe)
	out, errs := os.Stdout, os.Stderr
	go func() {
		for range broken { // can also mean that a connection to a server broke, which is no reason to end
			if self.Unread(out) || self.Unread(errs) {
				cancel()
				return
			}
		}
	}()
	c.SetContext(ctx)
}
