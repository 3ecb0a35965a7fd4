package provision

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/provision"
	"plumb/internal/stack"
	view "plumb/internal/view/provision"
)

// Swapping holds what only swap needs to know of servers.
type Swapping struct {
	Engines  func(*catalog.Catalog, dsn.Given) []provision.Engine
	Swappers func(*catalog.Catalog, dsn.Given) []provision.Swapper
	System   provision.System
	// Rehearse returns what tries a swap before it is carried out; nil if that cannot be done.
	Rehearse func(*shell.Shell, provision.Swapper) func(ctx context.Context, source shell.Source, state string, w provision.Swap) error
}

// swapping is the command swap, with its flags.
type swapping struct {
	lending
	Swapping
	at          string
	back        bool
	unrehearsed bool
	dryRun, yes bool
}

// Swap makes the command.
func Swap(s *shell.Shell, l Lending, w Swapping) *cobra.Command {
	v := &swapping{lending: lending{Shell: s, Lending: l}, Swapping: w}
	c := &cobra.Command{
		Use:   "swap SERVER RELEASE",
		Short: "move a server's data to another version, with a way back",
		Long: `Swap says how the data of SERVER can be moved to RELEASE, a version such as 17 or a
flavour with one such as percona:8.0, and how it can be moved back. If it cannot be
done in place, it says why, and what to do instead.

A PostgreSQL of Debian's packages is upgraded by Plumb itself, once the newer
version is installed. The upgrade is first tried on a copy of a point: pg_upgrade
runs, the new server starts, and all tables are checked and must have the same
checksums. Then the server is down while pg_upgrade copies its data to a new
cluster, with its configuration, at the same port. The old cluster stays as it was.
--undo starts that one again, says beforehand how many transactions that loses, and
keeps the new one under another name.

A MariaDB of Debian's packages is upgraded to a newer series that the system's
package sources have. The packages are fetched, and the upgrade is tried on a copy
of a point in the same way, with mariadb-upgrade. Then the server is stopped, its
data is copied, the packages are exchanged, and mariadb-upgrade runs before anybody
can log in. --undo restores the old packages and the copy, and keeps what was
written since.

For other upgrades it lists what to do.

` + cacheExits,
		Example: `  plumb provision swap postgres:5432 17 --dry-run
  plumb provision swap postgres:5432 17
  plumb provision swap postgres:5432 --undo
  plumb provision swap mysql:3306 11.8
  plumb provision swap mysql:3306 percona:8.0     what to do, and the way back`,
		Args: shell.Args(1, 2, "a server and a release, or a server and --undo"),
		RunE: func(c *cobra.Command, args []string) error {
			if v.back == (len(args) == 2) {
				return hint.Usage("swap needs a server and a release, or a server and --undo", "plumb provision swap postgres:5432 17")
			}
			if err := v.Validate(); err != nil {
				return err
			}
			v.CommandTime = aptTime
			if v.at != "" { // a script changes to a directory of its own, and so needs an absolute path
				at, err := filepath.Abs(v.at)
				if err != nil {
					return err
				}
				v.at = at
			}
			return v.run(c.Context(), args)
		},
	}
	v.LiveFlags(c)
	fl := c.Flags()
	fl.StringVar(&v.state, "state", "", "keep the journal in `DIR` instead of "+change.Directory)
	fl.StringVar(&v.at, "at", "", "PostgreSQL: put the new data directory at `DIR`, which must not exist yet, instead of where the packages keep it; MariaDB: keep the old data in DIR instead of beside the data directory")
	fl.BoolVar(&v.back, "undo", false, "go back to the state before: what was written since is lost")
	fl.BoolVar(&v.unrehearsed, "unrehearsed", false, "do not try the new version on a copy of a point first")
	fl.BoolVar(&v.dryRun, "dry-run", false, "show what would be done, and do nothing")
	shell.YesFlag(c, &v.yes)
	return c
}

// swap is the swap of one server.
type swap struct {
	opened
	run    provision.Run
	home   provision.Home
	engine provision.Engine
	by     provision.Swapper // nil if only a person can do it
	try    func(ctx context.Context, source shell.Source, state string, w provision.Swap) error
}

func (v *swapping) run(ctx context.Context, args []string) error {
	ref, err := stack.ParseRef(args[0])
	if err != nil {
		return hint.Usage(fmt.Sprintf("%q is not a server", args[0]), "a server is named as plumb stack does, such as postgres:5432")
	}
	o, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	w := &swap{opened: o, run: provision.Run{Executor: o.Executor, Of: "swap " + ref.String(), Begin: change.Begin{User: o.User},
		Again: "run the same command again to continue; --undo reverts all of it"}}
	given, err := dsn.Read(v.DSN)
	if err != nil {
		return err
	}
	for _, by := range v.Swappers(o.Catalog, given) {
		if by.Kind() == ref.Kind {
			w.by = by
			if !v.unrehearsed {
				w.try = v.Rehearse(v.Shell, by)
			}
		}
	}
	if ended, err := v.goOn(ctx, w); err != nil || ended {
		return err
	}
	err = v.find(ctx, w, ref, given)
	switch {
	case v.back: // for this the server need not answer
		return v.goBack(ctx, w, err)
	case err != nil:
		return err
	}
	return v.forth(ctx, w, args[1])
}

// find describes the server.
func (v *swapping) find(ctx context.Context, w *swap, ref stack.Ref, given dsn.Given) (err error) {
	if w.Stack.Find(ref) == nil {
		return hint.With(fmt.Errorf("%s does not run here", ref), "plumb stack shows which servers do")
	}
	for _, e := range v.Engines(w.Catalog, given) {
		if e.Kind() == ref.Kind {
			w.engine = e
		}
	}
	if w.engine == nil {
		return fmt.Errorf("no way is known to move a %s from one release to another", ref.Kind)
	}
	w.home, err = w.engine.Home(ctx, w.doer, w.Stack, ref)
	return err
}

// goOn finishes or undoes what a killed run began, and tells whether there was anything.
func (v *swapping) goOn(ctx context.Context, w *swap) (bool, error) {
	all, err := w.run.Stages(ctx)
	if err != nil || len(all) == 0 || !provision.Torn(all[len(all)-1]) {
		return false, err
	}
	if v.dryRun {
		foretell(v.Err, all[len(all)-1:])
		return false, nil
	}
	if err := v.Print(view.Torn(all[len(all)-1:], shell.Screen(v.Out)) + "\n"); err != nil {
		return false, err
	}
	if v.back { // the way back also undoes what was only begun
		return false, nil
	}
	if err := v.Ask("Continue?", v.yes); err != nil {
		return false, err
	}
	only := isFirst(all[len(all)-1])
	_, err = w.run.GoOn(ctx)
	return !only, err
}

// programsOf begins the name of a change that only fetches the programs a rehearsal needs.
const programsOf = "programs of "

// isFirst tells whether a change only fetched programs.
func isFirst(c *change.Change) bool {
	if len(c.Steps) == 0 {
		return false
	}
	name, _ := c.Steps[0].To.Text()
	return strings.HasPrefix(name, programsOf)
}

// forth brings the server to another release.
func (v *swapping) forth(ctx context.Context, w *swap, text string) error {
	from, to, way := provision.WayTo(w.home, text)
	if way.No != "" {
		return hint.With(fmt.Errorf("%s cannot become %s in place: %s", from, to, way.No), "possible instead: "+way.Else)
	}
	swap := provision.Swap{Home: w.home, Stack: w.Stack, To: to, At: v.at, System: v.System}
	var course provision.Course
	byHand := len(way.Steps) > 0 || w.by == nil
	if byHand && v.at != "" {
		return hint.Usage("--at says where Plumb puts data, but this change is made by hand", "leave it out")
	}
	if !byHand {
		var err error
		if course, err = w.by.Swap(ctx, w.doer, swap); err != nil {
			return fmt.Errorf("plan the change from %s to %s: %w", from, to, err)
		}
	}
	first := stageOf(w, programsOf+to.String(), "", course.First)
	s := stageOf(w, fmt.Sprintf("%s from %s to %s", w.home.Server, from, to), way.How, course.Swap)
	if err := v.Print(view.Swap(first, s, way, !byHand && w.try != nil, shell.Screen(v.Out))); err != nil || v.dryRun {
		return err
	}
	if course.Swap.Done() {
		return errors.New("nothing was done: this change has to be made by hand")
	}
	if err := w.Executor.Trusted(); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	if err := v.Ask("Do it?", v.yes); err != nil {
		return err
	}
	if err := v.prepare(ctx, w, first, swap); err != nil {
		return err
	}
	out, err := w.run.Stage(ctx, s)
	if err != nil {
		return err
	}
	return v.Print(view.Swapped(w.home.Server, out.Number, course.Next, shell.Screen(v.Out)))
}

// prepare fetches the programs of the new version, and tries the swap. If that fails it removes them again.
func (v *swapping) prepare(ctx context.Context, w *swap, first provision.Stage, to provision.Swap) error {
	if !first.Done {
		if err := w.dropFirst(ctx); err != nil {
			return err
		}
		if _, err := w.run.Stage(ctx, first); err != nil {
			return err
		}
	}
	if w.try == nil {
		return nil
	}
	err := w.try(ctx, v.Source, v.state, to)
	if err == nil {
		return nil
	}
	if left := w.dropFirst(context.WithoutCancel(ctx)); left != nil {
		err = fmt.Errorf("%w (and what was fetched for it is still there: %w)", err, left)
	}
	return err
}

// dropFirst removes the programs that were fetched for a swap which has not come about, as packages may have been updated since.
func (w *swap) dropFirst(ctx context.Context) error {
	all, err := w.run.Stages(ctx)
	if err != nil || len(all) == 0 || !isFirst(all[len(all)-1]) {
		return err
	}
	return w.Executor.Undo(ctx, []int{all[len(all)-1].Number}, change.UndoOptions{})
}

// stageOf makes a part of a swap ready to be carried out. What brings the programs is of the data too: it has those of the way back.
func stageOf(w *swap, name, why string, m provision.Making) provision.Stage {
	s := provision.Stage{Name: name, Why: why, Steps: []change.Prepared{provision.Step(w.home.Server, name, m.Acts)}, Notes: m.Notes, Proof: m.Proof, Done: m.Done()}
	s.ForData()
	return s
}

// goBack brings the server back to what it was before.
func (v *swapping) goBack(ctx context.Context, w *swap, unseen error) error {
	all, err := w.run.Stages(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return hint.With(errors.New("no swap of this server is in force"), "plumb history lists what was done")
	}
	if err := v.Print(view.SwapBack(all[len(all)-1], v.lost(ctx, w, unseen), shell.Screen(v.Out))); err != nil || v.dryRun {
		return err
	}
	if err := v.Ask("Go back, and lose that data?", v.yes); err != nil {
		return err
	}
	for _, c := range ofLast(all) {
		if err := w.Executor.Undo(ctx, []int{c.Number}, change.UndoOptions{}); err != nil {
			return err
		}
	}
	return v.Print("Gone back.\n")
}

// ofLast returns the changes of the last swap, the last first: the swap itself, and the one that fetched its programs.
func ofLast(all []*change.Change) (last []*change.Change) {
	for _, c := range slices.Backward(all) {
		if len(last) > 0 && !isFirst(c) {
			break
		}
		last = append(last, c)
		if len(last) == 2 {
			break
		}
	}
	return last
}

// lost says what going back would lose. unseen is why the server was not found.
func (v *swapping) lost(ctx context.Context, w *swap, unseen error) string {
	if unseen == nil && w.by == nil {
		unseen = errors.New("nobody counts it")
	}
	var n provision.Lost
	if unseen == nil {
		n, unseen = w.by.Since(ctx, w.doer, w.home)
	}
	return view.Lost(n, unseen)
}
