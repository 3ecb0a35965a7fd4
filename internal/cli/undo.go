package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/view"
)

// undoFlags are the flags of undo.
type undoFlags struct {
	keeping
	number          int // 0: the last one
	all             bool
	yes             bool
	dryRun          bool
	force           bool
	keep            bool
	unlessConfirmed bool
	json            bool
}

func (a *app) undo() *cobra.Command {
	var f undoFlags
	c := &cobra.Command{
		Use:   "undo [NUMBER]",
		Short: "take back what fix did",
		Long: `Undo takes the last change back that plumb fix made, or the one with this NUMBER
(plumb history lists them), or all of them. It works from the journal alone: after
a crash at any moment, after a reboot, a second time, and with a newer Plumb.

Values that somebody changed since are not touched: undo names them and stops
before the first change. --keep leaves those as they are and undoes the rest;
--force takes them back too.

` + fixExits,
		Example: `  plumb undo --dry-run      what would be taken back
  plumb undo                the last change
  plumb undo 3              change 3
  plumb undo --all --yes    everything that Plumb ever changed here`,
		Args: numberInto(&f.number),
		RunE: func(c *cobra.Command, _ []string) error { return a.runUndo(c.Context(), f) },
	}
	f.keeping.flags(c)
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "undo every change, the newest first")
	fl.BoolVar(&f.yes, "yes", false, "do not ask")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be taken back, and change nothing")
	fl.BoolVar(&f.force, "force", false, "take back also what somebody changed since")
	fl.BoolVar(&f.keep, "keep", false, "leave what somebody changed since as it is, and undo the rest")
	fl.BoolVar(&f.json, "json", false, "print JSON v1 (plumb schema describes it)")
	fl.BoolVar(&f.unlessConfirmed, "unless-confirmed", false, "wait until the time of --try is over, and undo unless it was confirmed")
	if err := fl.MarkHidden("unless-confirmed"); err != nil {
		panic(err)
	}
	return c
}

// number reads the number of a change.
func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &usageError{fmt.Sprintf("%q is no number of a change", text), "plumb history lists them"}
	}
	return n, nil
}

func (f undoFlags) validate() error {
	switch {
	case f.all && f.number > 0:
		return &usageError{"--all and a number are two choices", "give one of them"}
	case f.force && f.keep:
		return &usageError{"--force and --keep are two answers to one question", "give one of them"}
	}
	return f.keeping.validate()
}

func (a *app) runUndo(ctx context.Context, f undoFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	hands, keeper, err := f.open()
	if err != nil {
		return err
	}
	defer hands.Close()
	if f.unlessConfirmed {
		return undoUnlessConfirmed(ctx, keeper, f.number)
	}
	all, err := keeper.Changes(ctx)
	if err != nil {
		return err
	}
	todo, err := f.choose(all)
	if err != nil {
		return err
	}
	if len(todo) == 0 {
		return a.undone(f, nil, nil)
	}
	if !f.json || f.dryRun {
		fmt.Fprint(a.out, view.UndoPlan(todo, screen(a.out)))
	}
	if f.dryRun {
		return nil
	}
	if err := a.ask(fmt.Sprintf("Undo %s?", countText(len(todo), "change")), f.yes); err != nil {
		return err
	}
	var numbers []int
	for _, c := range todo {
		numbers = append(numbers, c.Number)
	}
	var trail []view.Undone
	err = keeper.Undo(ctx, numbers, change.UndoOptions{Force: f.force, Keep: f.keep,
		Each: func(c *change.Change, p change.Past, err error) {
			trail = append(trail, view.Undone{Change: c.Number, Past: p, Err: err})
		}})
	return errors.Join(a.undone(f, todo, trail), err)
}

// choose gives the changes to undo, the newest first.
func (f undoFlags) choose(all []*change.Change) ([]*change.Change, error) {
	var open []*change.Change
	for _, c := range slices.Backward(all) {
		if c.Open() && (f.number == 0 || c.Number == f.number) {
			open = append(open, c)
		}
	}
	if f.number > 0 && !slices.ContainsFunc(all, func(c *change.Change) bool { return c.Number == f.number }) {
		return nil, withHint(fmt.Errorf("there is no change %d", f.number), "plumb history lists them")
	}
	if !f.all && len(open) > 1 {
		open = open[:1]
	}
	return open, nil
}

// undone says what was taken back.
func (a *app) undone(f undoFlags, todo []*change.Change, trail []view.Undone) error {
	if f.json {
		text, err := view.JSON(view.UndoDocument(trail))
		if err == nil {
			_, err = a.out.Write(text)
		}
		return err
	}
	if len(todo) == 0 {
		_, err := fmt.Fprintln(a.out, "Nothing to undo: nothing that Plumb changed is in force.")
		return err
	}
	_, err := fmt.Fprint(a.out, view.UndoOutcome(trail, screen(a.out))+view.UndoWaits(todo, screen(a.out)))
	return err
}

// undoUnlessConfirmed is the dead man's switch: it waits for the time of
// --try, and then undoes what nobody has confirmed. What stands in its way (a
// fix that still runs, a server that restarts) it waits for.
func undoUnlessConfirmed(ctx context.Context, k *change.Keeper, number int) error {
	for began := time.Now(); ; {
		all, err := k.Changes(ctx)
		if err == nil {
			i := slices.IndexFunc(all, func(c *change.Change) bool { return c.Number == number })
			if i < 0 || all[i].Confirmed || all[i].Ended && !all[i].Open() {
				return nil
			}
			if left := time.Until(all[i].Try); left > 0 {
				began = time.Now()
				if err := pause(ctx, min(left, time.Second)); err != nil {
					return err
				}
				continue
			}
			// What somebody changed meanwhile is not ours to overwrite.
			err = k.Undo(ctx, []int{number}, change.UndoOptions{Keep: true})
			if err == nil {
				return nil
			}
		}
		if time.Since(began) > undoTime {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
