package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/inventory"
	"plumb/internal/units"
	inventoryview "plumb/internal/view/inventory"
)

func (a *app) labSweep() *cobra.Command {
	var p labPlace
	var yes, dryRun bool
	c := &cobra.Command{
		Use:   "sweep",
		Short: "remove what a killed lab left",
		Long: `Sweep lists what labs that are no longer running have left: processes, limits,
settings, mounts, pools, loop devices, control groups, directories. After asking it
removes them, newest first. Each is proven to be the lab's own immediately before;
anything else is left alone and reported. Labs that still run are not touched.

` + labExitTable,
		Example: `  plumb lab sweep --dry-run
  plumb lab sweep --yes`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p.Note(&a.Shell)
			return p.OnBooks(func(books inventory.Books) error { return a.runLabSweep(c.Context(), books, yes, dryRun) })
		},
	}
	p.StateFlag(c)
	shell.YesFlag(c, &yes)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what is left, and do nothing")
	return c
}

func (a *app) runLabSweep(ctx context.Context, books inventory.Books, yes, dryRun bool) error {
	left, listErr := books.List(ctx)
	if err := a.Print(inventoryview.Dead(books.Directory, left, listErr, shell.Screen(a.Out))); err != nil {
		return errors.Join(err, listErr)
	}
	n := 0
	for _, one := range left {
		if !one.Live {
			n += len(one.Things)
		}
	}
	if dryRun || n == 0 {
		return listErr
	}
	if err := a.Ask(fmt.Sprintf("Remove %s?", units.Count(n, "thing")), yes); err != nil {
		return errors.Join(err, listErr)
	}
	swept, err := books.Sweep(ctx)
	return errors.Join(err, listErr, a.Print(inventoryview.Swept(swept, shell.Screen(a.Out))))
}
