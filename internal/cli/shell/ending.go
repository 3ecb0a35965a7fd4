package shell

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/host"
	"plumb/internal/host/self"
)

// Ending makes the context of a command. Whatever asks it to end, it ends as
// by an interrupt, and takes away what it made. A person's second interrupt
// ends the program at once, whatever hangs. The system repeats itself: a
// terminal that is closed, and timeout(1), send their signal twice, and the
// second one must not stop the clearing up.
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

// Outlive makes a command, if it is one of those that make things, end as by an
// interrupt when nobody reads its output any more: the kernel's answer to that,
// the end at once, would leave them behind. What only reads ends as any program
// does.
func Outlive(c *cobra.Command, makers ...string) {
	words := strings.Fields(c.CommandPath())
	if len(words) < 2 || !slices.Contains(makers, words[1]) {
		return
	}
	ctx, cancel := context.WithCancel(c.Context())
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, host.BrokenPipe)
	out, errs := os.Stdout, os.Stderr
	go func() {
		for range broken { // also of a server's connection that broke, which is no reason to end
			if self.Unread(out) || self.Unread(errs) {
				cancel()
				return
			}
		}
	}()
	c.SetContext(ctx)
}
