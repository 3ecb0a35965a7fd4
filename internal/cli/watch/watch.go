// Package watch is the commands that watch a host: one file each.
package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	shell.Source
	once bool
	json bool
	span time.Duration
}

// How long is looked before something is said: a verdict wants three windows of
// the last five.
const (
	usualSpan = 30 * time.Second
	leastSpan = 3*watch.Length + 2*time.Second
)

// Command makes plumb watch and what is below it.
func Command(s *shell.Shell, a Adapters) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "say what limits each server now, and what that costs",
		Long: `Watch reads this host each second, from the processors and disks to the sessions
of its servers, and says of every server which limit holds it back, how much of
its active time that costs, what speaks for that reading and what against it,
what it is the cause of, and what to do. What cannot be told is said to be
unknown, with what would show it.

With --once it looks for half a minute, prints one screen, and ends.

It changes nothing, switches nothing on in a server, and asks each server a few
small queries a second.

` + shell.ReadExits,
		Example: `  plumb watch --once
  plumb watch --once --json
  plumb watch --once --for 2m       look longer: what a disk does unloaded is learned meanwhile`,
		Args: s.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return runWatch(c.Context(), s, a, f) },
	}
	f.LiveFlags(c)
	c.Flags().BoolVar(&f.once, "once", false, "print one screen, and end")
	c.Flags().BoolVar(&f.json, "json", false, "print it as JSON v1 (plumb schema describes it); goes with --once")
	c.Flags().DurationVar(&f.span, "for", usualSpan, "look for this long before; goes with --once")
	return c
}

func (f watchFlags) validate() error {
	if !f.once {
		return hint.Usage("what is to be shown is not said", "plumb watch --once prints one screen")
	}
	if f.span < leastSpan || f.span > 24*time.Hour {
		return hint.Usage(fmt.Sprintf("--for %s is out of range", f.span), fmt.Sprintf("%s to 24h", leastSpan))
	}
	return f.Validate()
}

func runWatch(ctx context.Context, s *shell.Shell, a Adapters, f watchFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	m, cat, err := once(ctx, s, a, f)
	if err != nil {
		return err
	}
	return s.Answer(f.json, view.Document(m, cat), view.Text(m, cat, shell.Screen(s.Out)))
}

// once looks for a while, and gives the last moment.
func once(ctx context.Context, s *shell.Shell, a Adapters, f watchFlags) (watch.Moment, *catalog.Catalog, error) {
	j, cat, err := newJudge(s)
	if err != nil {
		return watch.Moment{}, nil, err
	}
	own, cancel := context.WithTimeout(ctx, f.span)
	defer cancel()
	if err := Live(s, a)(own, f.Source, j); err != nil {
		return watch.Moment{}, nil, err
	}
	if ctx.Err() != nil {
		return watch.Moment{}, nil, fmt.Errorf("watch this host: interrupted")
	}
	return j.Moment(j.Known()), cat, nil
}
