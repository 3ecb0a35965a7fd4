package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	fixview "plumb/internal/view/fix"
)

func (a *app) history() *cobra.Command {
	var k changeFlags
	var which int
	var json bool
	c := &cobra.Command{
		Use:   "history [NUMBER]",
		Short: "list what Plumb changed on this host",
		Long: `History lists the changes that Plumb made here, with their state; with a NUMBER it
shows every act of that change, with the value before and after. It changes
nothing.

` + shell.ReadExits,
		Example: "  plumb history\n  plumb history 3",
		Args:    numberInto(&which),
		RunE:    func(c *cobra.Command, _ []string) error { return a.runHistory(c.Context(), k, which, json) },
	}
	k.placeFlags(&a.Shell, c)
	shell.JSONFlag(c, &json, "")
	return c
}

// numberInto takes at most one number of a change.
func numberInto(n *int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) (err error) {
		if len(args) > 1 {
			return hint.Usage(fmt.Sprintf("%s takes one number, got %d", c.CommandPath(), len(args)), "plumb history lists them")
		}
		if len(args) == 1 {
			*n, err = number(args[0])
		}
		return err
	}
}

func (a *app) runHistory(ctx context.Context, k changeFlags, which int, json bool) error {
	if err := k.validate(); err != nil {
		return err
	}
	doer, executor, all, err := k.changes(ctx)
	if err != nil {
		return err
	}
	defer doer.Close()
	a.damaged(all)
	if which > 0 {
		all = slices.DeleteFunc(all, func(c *change.Change) bool { return c.Number != which })
		if len(all) == 0 {
			return hint.With(fmt.Errorf("there is no change %d", which), "plumb history lists them")
		}
	}
	if json {
		return a.Document(fixview.HistoryDocument(all, time.Now()))
	}
	if which > 0 {
		return a.Print(fixview.HistoryOf(all[0], time.Now(), shell.Screen(a.Out)))
	}
	if len(all) == 0 { // either Plumb changed nothing here, or the directory is not mounted
		return a.Print("No change is recorded in " + executor.Dir + ".\n")
	}
	return a.Print(fixview.History(all, time.Now(), shell.Screen(a.Out)))
}

func (a *app) confirm() *cobra.Command {
	var k changeFlags
	var which int
	c := &cobra.Command{
		Use:   "confirm [NUMBER]",
		Short: "keep what fix --try changed",
		Long: `Confirm keeps the change that plumb fix --try made, so that it is not undone when
the time is over. Without a NUMBER it keeps the last change that is still waiting.

Exit codes:
  0  done
  2  the command line is wrong
  3  there is nothing to confirm, or the journal could not be read`,
		Example: "  plumb confirm",
		Args:    numberInto(&which),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := k.validate(); err != nil {
				return err
			}
			doer, executor, err := k.open()
			if err != nil {
				return err
			}
			defer doer.Close()
			done, err := executor.Confirm(c.Context(), which)
			if err == nil {
				_, err = fmt.Fprintf(a.Out, "Change %d is kept. plumb undo %d can still revert it.\n", done.Number, done.Number)
			}
			return err
		},
	}
	k.placeFlags(&a.Shell, c)
	return c
}
