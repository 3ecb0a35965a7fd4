// Package watch has the commands that watch a host, with a file for each.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/cli/watch/incident"
	"plumb/internal/hint"
	"plumb/internal/units"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	grants bool
	shell.Source
	once     bool
	json     bool
	plans    bool
	sort     string
	powerful bool
	span     time.Duration
}

// How long to look before saying something: a verdict needs three of the last
// five windows.
const (
	usualSpan = 30 * time.Second
	leastSpan = 3*watch.Length + 2*time.Second
)

// Command makes plumb watch and what is below it.
func Command(s *shell.Shell, a feed.Adapters) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "show what limits each server now, and what that costs",
		Long: `Watch reads this host every second, from the CPUs and disks to the sessions of its
servers, and reports for every server which bottleneck limits it, how much of its
active time that costs, the evidence for and against, what it causes, and what to
do. What cannot be judged is reported as unknown, with what would make it visible.

On a terminal it shows that, the stack with live values, sessions, statements and
a timeline, until you type q; ? lists the keys. Into a pipe it writes a line each
time the bottleneck changes. With --once it watches for half a minute, prints one
screen, and ends.

It changes nothing, enables nothing in a server, and sends each server a few small
queries a second.

` + shell.ReadExits,
		Example: `  plumb watch
  plumb watch --once
  plumb watch --once --json
  plumb watch --once --for 2m       watch longer, which also learns how the disks perform unloaded`,
		Args: s.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("for") && !f.once {
				return hint.Usage("--for goes with --once", "plumb watch --once --for 2m; without --once it watches until it is ended")
			}
			return runWatch(c.Context(), s, a, f)
		},
	}
	f.LiveFlags(c)
	c.Flags().BoolVar(&f.once, "once", false, "print one screen, and end")
	shell.JSONFlag(c, &f.json, "; goes with --once")
	c.Flags().DurationVar(&f.span, "for", usualSpan, "watch for this long; goes with --once")
	c.Flags().BoolVar(&f.plans, "plans", false, "ask the servers for the plans of the most expensive statements; goes with --once (on the terminal: the key e)")
	sortFlag(c, &f.sort)
	powerfulFlag(c, &f.powerful)
	c.Flags().BoolVar(&f.grants, "grants", false, "print a user with the minimal privileges that a watch needs, and change nothing")
	from := feed.Live(s, a)
	c.AddCommand(serveCommand(s, from), recordCommand(s, from), replayCommand(s), exportCommand(s), incident.Capture(s, a), metricsCommand(s, a, from), nagiosCommand(s), emitCommand(s))
	return c
}

// sortFlag adds the flag for the order of statements.
func sortFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "sort", string(watch.ByTime), "list the statements by this `ORDER`: "+hint.OneOf(watch.Orders()))
	shell.Offer(c, map[string]shell.Words{"sort": watch.Orders})
}

// sortable is a usage error if there is no such order.
func sortable(by string) error {
	if !slices.Contains(watch.Orders(), by) {
		return hint.Usage(fmt.Sprintf("--sort %s is not known", by), "use "+hint.OneOf(watch.Orders()))
	}
	return nil
}

// powerfulFlag adds the flag with which a person allows to ask for plans even if our user can do more than read.
func powerfulFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "plans-as-superuser", false, "ask for plans even as a user who can do more than read: explaining runs functions that others may have written")
}

func (f watchFlags) validate() error {
	if !f.once {
		if f.plans {
			return hint.Usage("--plans goes with --once", "plumb watch --once --plans; on the terminal the key e asks for the plan of one statement")
		}
		if f.json {
			return hint.Usage("--json goes with --once", "plumb watch --once --json")
		}
		if f.sort != string(watch.ByTime) {
			return hint.Usage("--sort goes with --once", "plumb watch --once --sort rows; on the terminal the key s")
		}
		return f.Validate()
	}
	if f.span < leastSpan || f.span > 24*time.Hour {
		return hint.Usage(fmt.Sprintf("--for %s is out of range", units.Short(f.span)), fmt.Sprintf("%s to 24h", units.Short(leastSpan)))
	}
	return cmp.Or(sortable(f.sort), f.Validate())
}

func runWatch(ctx context.Context, s *shell.Shell, a feed.Adapters, f watchFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.grants {
		return s.Print(a.Grants())
	}
	if !f.once {
		return runScreen(ctx, s, feed.Live(s, a), f.Source, f.powerful)
	}
	m, cat, err := once(ctx, s, a, f)
	if err != nil {
		return err
	}
	m.List(watch.Order(f.sort))
	return s.Answer(f.json, view.Document(m, cat), view.Text(m, cat, shell.Screen(s.Out)))
}

// once looks for a while, and returns the last moment. Servers are asked for plans and indexes
// while they are still being watched.
func once(ctx context.Context, s *shell.Shell, a feed.Adapters, f watchFlags) (watch.Moment, *catalog.Catalog, error) {
	j, cat := feed.NewJudge(s)
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	asks, last := &asking{powerful: f.powerful}, make(chan watch.Moment, 1)
	go func() {
		select {
		case <-own.Done():
		case <-time.After(f.span):
			last <- asks.everything(own, j.Moment(j.Known()), f.plans)
			cancel()
		}
	}()
	end := waiting(own, s, f.span)
	err := feed.Live(s, a)(own, f.Source, j, asks)
	end()
	if err != nil {
		return watch.Moment{}, nil, err
	}
	if ctx.Err() != nil {
		return watch.Moment{}, nil, errors.New("watch this host: interrupted")
	}
	return <-last, cat, nil
}
