package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/prune"
	view "plumb/internal/view/protect"
)

// pruneFlags are the flags of prune.
type pruneFlags struct {
	machine.Place
	keep        string
	allRight    int
	dryRun, yes bool
	forget      bool
	server      string
	with        string
}

func (v *verbs) prune() *cobra.Command {
	var f pruneFlags
	c := &cobra.Command{
		Use:   "prune [SERVER | POINT]",
		Short: "destroy the points that no rule keeps, or one by its name",
		Long: `Prune shows what happens to each point and why, asks, and destroys those that no
rule keeps, or, whatever the rules say, the one POINT that is named: for example one
with a wrong date, or of a server that is gone for good. RULES say what stays,
separated by commas:
  last=3      the newest three
  24h 7d 4w   one for each of the last 24 hours, 7 days, 4 weeks; also 12m and 2y
  verified=2  the newest two that are proven
All times are in UTC. Within an hour or a day, a proven point is preferred.

A snapshot is destroyed by its name, its GUID and its birth: another one of the same
name is left alone. A point stays if it has clones or is held, for example for a
target that still needs it. Nothing at all is destroyed if a clock jumped, if more
than two points and more than a quarter would go (--all-right N allows exactly N),
or if the last proven point would. If nothing of a point exists any more, only its
record is dropped; a point whose storage does not answer stays.

Snapshots that a command took (plumb snapshot --with) are looked up and removed by a
command too. With PLUMB_DO=look it must print the identity of what has the name in
PLUMB_POINT, or nothing if there is none; with PLUMB_DO=remove it must remove that,
if it is still PLUMB_IDENTITY. Without --with, or if no identity was printed when
they were taken, such points stay.

--forget is for a POINT whose storage is gone for good: a pool that is lost, a disk
that died. Only you can know whether storage that does not answer is gone, or only
hangs. Snapshots on storage that answers are destroyed. Those on storage that does
not answer are listed but not destroyed: only Plumb's record of the point is
dropped. If that storage comes back, its snapshots still exist, and you must remove
them by hand. It is refused while all of the storage answers, and while somebody
holds the point.

` + exits,
		Example: `  plumb prune --keep last=3,24h,7d,4w,12m,verified=2 --dry-run
  plumb prune --keep last=3,24h,7d,4w,12m,verified=2 --yes
  plumb prune mysql:3306 --keep last=1 --all-right 9
  plumb prune 20261123T2105
  plumb prune 20261123T2105 --forget --dry-run`,
		Args: shell.AtMostOneArg("server or point"),
		RunE: func(c *cobra.Command, args []string) error {
			f.server = append(args, "")[0]
			return v.On(f.Place, func(m *machine.Machine) error {
				o, err := f.options()
				if err != nil {
					return err
				}
				return v.runPrune(c.Context(), m, f, o)
			})
		},
	}
	f.Place.Flags(c)
	fl := c.Flags()
	fl.StringVar(&f.keep, "keep", "", "keep what these `RULES` name, such as last=3,24h,7d,4w,12m,verified=2")
	fl.StringVar(&f.with, "with", "", "use this shell `COMMAND` to look up and remove snapshots that a command took; with --dry-run it only looks")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would go and why, and destroy nothing")
	fl.BoolVar(&f.forget, "forget", false, "drop the record of the named point although its storage does not answer; snapshots there are not destroyed")
	fl.IntVar(&f.allRight, "all-right", 0, "allow exactly `N` points of each server to be destroyed, even if that is more than a quarter")
	shell.YesFlag(c, &f.yes)
	return c
}

// options reads from the flags what goes: one named point, or what rules say.
func (f pruneFlags) options() (o prune.Options, err error) {
	if protect.LikeID(f.server) {
		if f.keep != "" || f.allRight != 0 {
			return o, hint.Usage("a point is named, so --keep and --all-right have no effect", "leave them out, or name a server")
		}
		o.Point, o.Forget = f.server, f.forget
		return o, nil
	}
	if f.forget {
		return o, hint.Usage("--forget needs one POINT", "plumb protect list shows them")
	}
	o.AllRight = f.allRight
	if o.Rules, err = keep.Parse(f.keep); err != nil {
		return o, hint.Usage("--"+err.Error(), hint.Of(err))
	}
	if f.server != "" {
		if err := o.Server.UnmarshalText([]byte(f.server)); err != nil {
			return o, hint.Usage(fmt.Sprintf("%q is not a server", f.server), "give it as plumb protect list does, such as mysql:3306")
		}
	}
	return o, nil
}

func (v *verbs) runPrune(ctx context.Context, m *machine.Machine, f pruneFlags, o prune.Options) error {
	if f.with != "" {
		m.Keeper.Storages = v.Storages("", f.with)
	}
	if !f.dryRun && !f.forget { // with --forget, sweeping would ask the lost storage again about each point
		v.settle(ctx, m)
	}
	pruner := prune.Pruner{Keeper: m.Keeper}
	plans, err := pruner.Plan(ctx, m.Doer, o)
	if err != nil {
		return err
	}
	if len(plans) == 0 && !o.Server.IsZero() {
		return hint.With(fmt.Errorf("there is no point of %s", f.server), "plumb protect list shows all")
	}
	if !f.JSON || f.dryRun {
		if err := v.Answer(f.JSON, view.PruneDocument(plans, o.Rules, true, nil), view.Prune(plans, shell.Screen(v.Out))); err != nil {
			return err
		}
	}
	if f.dryRun {
		return stopped(plans)
	}
	if question := f.question(plans); question != "" {
		if err := v.Ask(question, f.yes); err != nil {
			return err
		}
	}
	done, failed := carry(ctx, pruner, plans)
	if err := errors.Join(v.Answer(f.JSON, view.PruneDocument(plans, o.Rules, false, done), view.Pruned(done, shell.Screen(v.Out))), failed); err != nil {
		return err
	}
	return stopped(plans)
}

// question is the text that asks whether to destroy what goes; "" when nothing does.
func (f pruneFlags) question(plans []keep.Plan) string {
	going := 0
	for _, plan := range plans {
		going += len(plan.Going())
	}
	switch {
	case going == 0:
		return ""
	case f.forget:
		return "Forget the point, and leave its snapshots where they are?"
	}
	return fmt.Sprintf("Destroy them (%d)?", going)
}

// carry carries out the plans, except those that a brake stops.
func carry(ctx context.Context, pruner prune.Pruner, plans []keep.Plan) (done []prune.Outcome, failed error) {
	for _, plan := range plans {
		if len(plan.Brakes) > 0 {
			continue
		}
		outcomes, err := pruner.Carry(ctx, plan)
		done, failed = append(done, outcomes...), errors.Join(failed, err)
	}
	return done, failed
}

// stopped is the error whose exit code says that a brake stopped a plan.
func stopped(plans []keep.Plan) error {
	if slices.ContainsFunc(plans, func(p keep.Plan) bool { return len(p.Brakes) > 0 }) {
		return shell.ErrMarked
	}
	return nil
}
