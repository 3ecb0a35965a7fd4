package cli

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	fixview "plumb/internal/view/fix"
)

// leftovers lists what on this host still needs Plumb. It is hidden: the
// scripts of the packages ask it before they remove Plumb or its journals.
func (a *app) leftovers() *cobra.Command {
	var k changeFlags
	var busy bool
	c := &cobra.Command{
		Use:   "leftovers",
		Short: "list what on this host only Plumb can take back",
		Long: `Leftovers lists the changes of plumb fix that are in force and what labs made,
a line each, with the command that ends it. It changes nothing.

Exit codes:
  0  there is nothing
  1  there is what was listed
  2  the command line is wrong
  3  it could not read what it needs`,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE:   func(c *cobra.Command, _ []string) error { return a.runLeftovers(c.Context(), k, busy) },
	}
	k.placeFlags(&a.Shell, c)
	c.Flags().BoolVar(&busy, "busy", false, "list only what Plumb is still working on: changes on trial, running labs")
	return c
}

func (a *app) runLeftovers(ctx context.Context, k changeFlags, busy bool) error {
	if err := k.validate(); err != nil {
		return err
	}
	doer, executor, all, err := k.changes(ctx)
	if err != nil {
		return err
	}
	defer doer.Close()
	books, unread := kinds.Books(executor.Doer, path.Join(executor.Dir, path.Base(inventory.Directory))).List(ctx)
	n := 0
	for _, l := range fixview.Leftovers(all, books, unread, time.Now()) {
		if busy && !l.Busy {
			continue
		}
		n++
		if _, err := fmt.Fprintln(a.Out, l.Text); err != nil {
			return err
		}
	}
	if n > 0 {
		return shell.ErrFound
	}
	return nil
}
