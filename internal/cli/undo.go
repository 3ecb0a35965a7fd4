package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	protectcli "plumb/internal/cli/protect"
	"plumb/internal/cli/shell"
	"plumb/internal/fix"
	"plumb/internal/hint"
	"plumb/internal/units"
	fixview "plumb/internal/view/fix"
)

// undoFlags are the flags of undo.
type undoFlags struct {
	changeFlags
	number          int    // 0: the last one
	file            string // of a plan
	all             bool
	yes             bool
	dryRun          bool
	force           bool
	keep            bool
	restart         bool
	discardNew      bool
	forget          bool
	unlessConfirmed bool
	heir            bool
	stranded        bool
	json            bool
}

const undoText = `Undo takes back the last change that plumb fix made, or the one with this NUMBER
(plumb history lists them), or all of them. It needs only the journal: it works
after a crash at any moment, after a reboot, a second time, and with a newer
Plumb.

Data that plumb provision moved comes back with everything its server wrote since:
the server is stopped while that is copied. --discard-new drops it instead.

If somebody changed a value since, undo names it and stops before it touches
anything. --keep leaves such values as they are and undoes the rest; --force takes
them back too. If a server is down, its files are restored anyway; what only the
running server can undo is reported and stays in the journal: undo again once it
runs. No server is restarted without --restart. With --plan, everything that was
made by that plan is undone, and nothing else.

If something can never be undone, because its server or its disk is gone for good,
its change stays open until you end it with plumb undo 3 --forget. That changes only
the journal: what is still in force stays in force, and no later undo reverts it.

What undo runs is in the journal. So a journal that somebody other than you and
root could have written (--state) is shown but not acted on.

`

func (a *app) undo() *cobra.Command {
	var f undoFlags
	c := &cobra.Command{
		Use:   "undo [NUMBER]",
		Short: "revert a change",
		Long:  undoText + fixExits,
		Example: `  plumb undo --dry-run      what would be taken back
  plumb undo                the last change
  plumb undo 3              change 3
  plumb undo --all --yes    everything that Plumb ever changed here`,
		Args: numberInto(&f.number),
		RunE: func(c *cobra.Command, _ []string) error { return a.runUndo(c.Context(), f) },
	}
	f.changeFlags.flags(&a.Shell, c)
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "undo every change, the newest first")
	fl.StringVar(&f.file, "plan", "", "undo only the changes made from the plan in this `FILE`; - for standard input")
	shell.YesFlag(c, &f.yes)
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be taken back, and change nothing")
	fl.BoolVar(&f.force, "force", false, "also undo what somebody changed since")
	fl.BoolVar(&f.keep, "keep", false, "leave what somebody changed since as it is, and undo the rest")
	fl.BoolVar(&f.forget, "forget", false, "undo nothing: end the change with this NUMBER, and leave what can never be undone as it is")
	fl.BoolVar(&f.restart, "restart", false, "also restart what fix restarted, so that the old values take effect")
	fl.BoolVar(&f.discardNew, "discard-new", false, "drop what servers wrote since their data was moved, instead of copying it back")
	shell.JSONFlag(c, &f.json, "")
	fl.BoolVar(&f.unlessConfirmed, "unless-confirmed", false, "wait until the time of --try is over, and undo unless it was confirmed")
	fl.BoolVar(&f.heir, "heir", false, "say armed, wait until standard input ends or the time of the loan is over, and undo it")
	fl.BoolVar(&f.stranded, "stranded", false, "restore what earlier boots lent")
	for _, name := range []string{"unless-confirmed", "heir", "stranded"} { // plumb types these
		if err := fl.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	return c
}

// number parses the number of a change.
func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, hint.Usage(fmt.Sprintf("%q is not the number of a change", text), "plumb history lists them")
	}
	return n, nil
}

func (f undoFlags) validate() error {
	switch {
	case f.all && f.number > 0:
		return hint.Usage("--all and a number cannot be combined", "give one of them")
	case f.file != "" && (f.all || f.number > 0):
		return hint.Usage("--plan cannot be combined with --all or a number", "give one of them")
	case f.force && f.keep:
		return hint.Usage("--force and --keep cannot be combined", "give one of them")
	case f.forget && f.number == 0:
		return hint.Usage("--forget needs the number of a change", "plumb history lists them")
	case f.forget && (f.force || f.keep || f.restart || f.discardNew):
		return hint.Usage("--forget reverts nothing, and the other flags say how to revert", "undo first, and then forget what could not be undone")
	}
	return f.changeFlags.validate()
}

func (a *app) runUndo(ctx context.Context, f undoFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	how := fix.Undo{Open: f.open, Force: f.force, Keep: f.keep, Restart: f.restart, Discard: f.discardNew, Forget: f.forget}
	switch {
	case f.unlessConfirmed:
		return how.UnlessConfirmed(ctx, f.number)
	case f.heir:
		return how.Heir(ctx, f.number, a.In, a.Out)
	case f.stranded:
		return how.Stranded(ctx)
	}
	doer, executor, all, err := f.changes(ctx)
	if err != nil {
		return err
	}
	defer doer.Close()
	a.damaged(all)
	todo, err := a.chosen(f, all)
	if err != nil {
		return err
	}
	if len(todo) == 0 {
		if f.number == 0 && fix.NewestDamaged(all, 0) != nil {
			return hint.With(errors.New("no other change of Plumb is in force"), "plumb history lists what is known")
		}
		return a.nothing(f, executor.Dir, all)
	}
	if f.dryRun && f.json {
		return a.Document(fixview.UndoPlanDocument(todo, how))
	}
	if !f.json {
		if err := a.Print(fixview.UndoPlan(todo, how, shell.Screen(a.Out))); err != nil {
			return err
		}
	}
	if f.dryRun {
		return nil
	}
	if err := executor.Trusted(); err != nil {
		return fmt.Errorf("undo what the journal says: %w", err)
	}
	if err := a.Ask(f.question(len(todo)), f.yes); err != nil {
		return err
	}
	doer.Close()
	back, err := a.takeBack(ctx, f, how, executor.Dir, todo)
	if err != nil {
		return err
	}
	err = errors.Join(a.undone(f, back.Changes, back.Trail), back.Verdict())
	if err == nil && f.leavesOut(all, todo[0].Number) {
		return shell.ErrMarked // what was asked for, but for what was left out
	}
	return err
}

// question is the text that asks whether to do all that was shown.
func (f undoFlags) question(changes int) string {
	switch {
	case f.forget:
		return fmt.Sprintf("Forget change %d?", f.number)
	case f.discardNew:
		return "Undo " + units.Count(changes, "change") + ", and lose what was written since?"
	}
	return "Undo " + units.Count(changes, "change") + "?"
}

// leavesOut tells whether a change that cannot be read is among those that were asked for, of which the newest is given.
func (f undoFlags) leavesOut(all []*change.Change, newest int) bool {
	return f.number == 0 && fix.NewestDamaged(all, newest) != nil || f.all && fix.NewestDamaged(all, 0) != nil
}

// chosen returns the changes that are meant, the newest first.
func (a *app) chosen(f undoFlags, all []*change.Change) ([]*change.Change, error) {
	which := fix.Choice{Number: f.number, All: f.all, Restart: f.restart}
	if f.file != "" {
		text, err := a.planText(f.file)
		if err != nil {
			return nil, err
		}
		p, err := fix.PlanIn(f.file, text)
		if err != nil {
			return nil, err
		}
		which.Plan = &p
	}
	todo, err := which.Of(all)
	if err == nil && f.discardNew && len(todo) > 0 && !slices.ContainsFunc(todo, (*change.Change).Moves) {
		err = hint.Usage("--discard-new is for changes that moved a server's data, and none of these did", "leave it out")
	}
	return todo, err
}

// takeBack undoes changes. Of what a rollback swapped nobody takes or destroys a point meanwhile.
func (a *app) takeBack(ctx context.Context, f undoFlags, how fix.Undo, state string, todo []*change.Change) (back *fix.Back, err error) {
	undo := func() { back = how.TakeBack(ctx, todo...) }
	if f.image != "" || f.forget { // whose points lie on storage that is not there, or stay where they are
		undo()
		return back, nil
	}
	doer, _, err := f.open()
	if err != nil {
		return nil, err
	}
	defer doer.Close()
	err = protectcli.Rollbacks(doer, keepers(), state, a.Warn).Undoing(ctx, todo, undo)
	return back, err
}

// unreadable says why no journal can be read, and what would help.
func unreadable(dir string, err error) error {
	help := "only the user who wrote the journal can read it: try sudo plumb history"
	if os.Geteuid() == 0 {
		help = "this is root already: does the directory lie on a filesystem that keeps root out, such as NFS, or does SELinux?"
	}
	return hint.With(fmt.Errorf("read the journal in %s: %w", dir, err), help)
}

// damaged says of which changes the journal cannot be read. They cost
// themselves alone.
func (a *app) damaged(all []*change.Change) {
	for _, c := range all {
		if c.Damage != nil {
			text, help, _ := shell.Describe(c.Damage)
			fmt.Fprintf(a.Err, "plumb: change %d is left out: %s\nhint: %s\n", c.Number, shell.OneLine(text), shell.OneLine(help))
		}
	}
}

// nothing is the error if there is nothing to undo of what was asked for.
func (a *app) nothing(f undoFlags, dir string, all []*change.Change) error {
	switch {
	case f.json:
		return a.Document(fixview.UndoDocument(nil))
	case len(all) == 0:
		return a.Print("Nothing to undo: no change is recorded in " + dir + ".\n")
	case f.file != "":
		return a.Print("Nothing to undo: no change from this plan is in force.\n")
	}
	for _, c := range all {
		if c.Number == f.number {
			return a.Print(fmt.Sprintf("Nothing to undo in change %d: %s.\n", c.Number, fixview.State(c, time.Now())))
		}
	}
	return a.Print("Nothing to undo: no change of Plumb is in force.\n")
}

// undone prints what was undone.
func (a *app) undone(f undoFlags, todo []*change.Change, trail []fix.Undone) error {
	if f.json {
		return a.Document(fixview.UndoDocument(trail))
	}
	if f.forget {
		return a.Print(fixview.Forgotten(trail, shell.Screen(a.Out)))
	}
	return a.Print(fixview.UndoOutcome(trail, shell.Screen(a.Out)) + fixview.UndoWaits(todo, shell.Screen(a.Out)))
}
