package protect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/protect/table"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/protect/rollback"
	view "plumb/internal/view/protect"
)

// rollbackFlags holds the flags of rollback.
type rollbackFlags struct {
	machine.Place
	o           rollback.Options
	stop, start string
	wal         string
	to          string
	table       table.Flags
	memory      value.Size
	dryRun, yes bool
}

func (v *verbs) rollback() *cobra.Command {
	var f rollbackFlags
	c := &cobra.Command{
		Use:   "rollback [POINT | SERVER]",
		Short: "take a server back to a point, keeping what it has now",
		Long: `Rollback stops the server of a point, clones the point's snapshots, puts the clones
in the place of its datasets, and starts it. The replaced datasets stay under names
of their own, with everything written since. It is a change in the journal: plumb
undo reverses it, and keeps what the server wrote meanwhile, too.

With --to it replays the log from the point on: while the server runs, its binary
log or WAL is replayed into a copy without network, which then takes its place. With
a time, the replay ends before the first transaction committed in that second or
later; with a GTID or FILE:POSITION, before that transaction. --dry-run lists the
transactions on both sides. What was written later stays with the replaced datasets.
Without POINT it starts from the newest proven point whose snapshots were all there
before that time.

With --table it brings back one table while the server runs: a copy of the point is
started, the table copied under another name, compared, and renamed. What others
wrote since stays. plumb undo removes it while it is unchanged.

It needs a proven point on ZFS or btrfs, and a server that a systemd unit starts, or
--service, or --stop and --start. A server with replicas, slots or archiving is
refused unless --replicas says that they need not follow. If files that are not the
server's changed on its datasets since the point, the rollback is refused unless
--others says that they may be reverted too. It shows what it will do, and asks.
PostgreSQL continues on a new timeline.

` + exits,
		Example: `  plumb rollback 20261123T2105 --dry-run
  plumb rollback 20261123T2105
  plumb rollback --to '2026-11-24 03:12:00 Europe/Berlin' --dry-run
  plumb rollback 20261123T2105 --to binlog.000012:4711
  plumb rollback 20261123T2105 --table shop.orders
  plumb undo                               back to how it was`,
		Args: shell.AtMostOneArg("point or server"),
		RunE: func(c *cobra.Command, args []string) error {
			of := append(args, "")[0]
			if err := f.validate(of); err != nil && !f.Grants {
				return err
			}
			return v.On(f.Place, func(m *machine.Machine) error {
				if f.table.Table == "" {
					return v.runRollback(c.Context(), m, f, of)
				}
				f.table.Memory, f.table.DryRun, f.table.Yes = int64(f.memory), f.dryRun, f.yes
				return table.Run(c.Context(), v.Opener, m, f.table, f.JSON, of)
			})
		},
	}
	f.flags(c)
	return c
}

func (f *rollbackFlags) flags(c *cobra.Command) {
	f.Place.Flags(c)
	fl := c.Flags()
	f.memory = instance.UsualMemory
	fl.StringVar(&f.to, "to", "", "replay the server's log up to just before `MOMENT`: a date with its time zone, a GTID, FILE:POSITION, or for PostgreSQL an LSN")
	fl.StringVar(&f.wal, "wal", "", "with --to: read archived WAL of PostgreSQL from `DIR`")
	fl.StringVar(&f.table.Table, "table", "", "bring back only `DATABASE.TABLE`, while the server runs (PostgreSQL: DATABASE.SCHEMA.TABLE)")
	fl.StringVar(&f.table.As, "as", "", "give the table another `NAME`")
	fl.Var(&f.memory, "memory", "with --to or --table: limit the copy's server to this `SIZE` of memory")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	shell.YesFlag(c, &f.yes)
	fl.StringVar(&f.o.Service, "service", "", "stop and start the server with service(8) `NAME`")
	fl.StringVar(&f.stop, "stop", "", "stop the server with `COMMAND`, which returns when it has ended")
	fl.StringVar(&f.start, "start", "", "start the server with `COMMAND`, which returns when it runs")
	fl.BoolVar(&f.o.Replicas, "replicas", false, "roll back even if the server has replicas, slots or archiving, which will not follow")
	fl.BoolVar(&f.o.Others, "others", false, "roll back even if files that are not the server's changed on its datasets since the point: they are reverted too")
	fl.BoolVar(&f.o.Unproven, "unproven", false, "allow a point that no drill has proven")
	fl.DurationVar(&f.o.Within, "within", 10*time.Minute, "undo the rollback if the server does not answer within this time")
	shell.OnlyWith(c, "wal", "to")
	shell.OnlyWith(c, "memory", "to", "table")
	shell.OnlyWith(c, "as", "table")
	c.MarkFlagsRequiredTogether("stop", "start")
	c.MarkFlagsMutuallyExclusive("table", "within")
	c.MarkFlagsMutuallyExclusive("service", "stop")
}

// validate is a usage error for flags that have no effect on one table, and if no point is named.
func (f rollbackFlags) validate(of string) error {
	const which = "plumb protect list shows the points; without one, --to TIME finds it"
	switch {
	case protect.LikeID(of):
	case f.table.Table != "":
		return hint.Usage("plumb rollback --table needs one POINT", "plumb protect list shows them")
	case f.to == "" && of == "":
		return hint.Usage("plumb rollback needs a POINT, or --to with a time", which)
	case f.to == "":
		return hint.Usage(fmt.Sprintf("%q is not a point, and without --to the time to return to is not known", of), which)
	}
	if f.table.Table != "" && (f.to != "" || f.stop != "" || f.o.Service != "" || f.o.Replicas || f.o.Others || f.o.Unproven) {
		return hint.Usage("--table brings back one table from the point, and stops no server", "leave out --to, --stop, --start, --service, --replicas, --others and --unproven")
	}
	return nil
}

// planRollback plans the way back to a point, or to a time, for which it starts from the nearest point.
func planRollback(ctx context.Context, m *machine.Machine, r rollback.Rollback, o rollback.Options, of string) (plan rollback.Plan, err error) {
	if protect.LikeID(of) {
		point, err := m.Keeper.Store.Get(ctx, m.Doer, of)
		if err != nil {
			return plan, err
		}
		s, err := m.Look(ctx)
		if err != nil {
			return plan, err
		}
		return r.Plan(ctx, m.Doer, s, point, o)
	}
	if o.To.Time.IsZero() {
		return plan, hint.Usage("--to "+o.To.Text+" is not a time, so the POINT from which the log is replayed is needed", "name the POINT; plumb protect list shows them")
	}
	s, err := m.Look(ctx)
	if err != nil {
		return plan, err
	}
	server, err := m.Server(s, of)
	if err != nil {
		return plan, err
	}
	point, passed, err := r.Nearest(ctx, m.Doer, s, server, o)
	if err != nil {
		return plan, err
	}
	plan, err = r.Plan(ctx, m.Doer, s, point, o)
	for _, why := range passed {
		plan.Recipe.Notes = append(plan.Recipe.Notes, "passed over: "+why)
	}
	return plan, err
}

func (v *verbs) runRollback(ctx context.Context, m *machine.Machine, f rollbackFlags, id string) error {
	if f.stop != "" {
		f.o.Stop, f.o.Start = []string{"sh", "-c", f.stop}, []string{"sh", "-c", f.start}
	}
	if f.to != "" {
		to, err := rollback.Moment(f.to)
		if err != nil {
			return err
		}
		to.Archive = f.wal
		f.o.To = &to
	}
	f.o.Memory = int64(f.memory)
	r := m.Rollbacks()
	r.Doing = v.Doing(f.JSON)
	plan, err := planRollback(ctx, m, r, f.o, id)
	if err != nil {
		return err
	}
	if !f.JSON || f.dryRun {
		if err := v.Answer(f.JSON, view.RollbackPlanDocument(plan), view.RollbackPlan(plan, shell.Screen(v.Out))); err != nil || f.dryRun {
			return err
		}
	}
	if err := v.Ask(fmt.Sprintf("Stop %s, and bring it back to %s?", plan.Server.Ref, plan.Aim()), f.yes); err != nil {
		return err
	}
	res, err := r.Run(ctx, plan, m.Begin())
	v.Done()
	if err != nil {
		if res.Change > 0 {
			err = hint.With(err, fmt.Sprintf("change %d in plumb history: %s; where something is left of it, plumb undo %d goes on", res.Change, res.Back, res.Change))
		}
		return err
	}
	return v.Answer(f.JSON, view.RollbackDocument(plan, res), view.RolledBack(res, shell.Screen(v.Out)))
}

// settle ends what killed runs left, and notes where the snapshots of points lie after a rollback was undone: what is
// left keeps points from going.
func (v *verbs) settle(ctx context.Context, m *machine.Machine) {
	if err := errors.Join(m.Clones.Sweep(ctx), m.Rollbacks().Sweep(ctx), m.Keeper.Sweep(ctx)); err != nil {
		v.Warn("remove what earlier runs left", err)
	}
	if err := m.Rollbacks().Follow(ctx); err != nil && !errors.Is(err, os.ErrNotExist) {
		v.Warn("look where the snapshots of points lie", err)
	}
}

// Rollbacks returns the rollbacks of a machine, for commands that undo changes. state is the directory of the journal.
func Rollbacks(d protect.Machine, a machine.Adapters, state string, warn func(string, error)) rollback.Rollback {
	k := &protect.Keeper{Do: d, Storages: a.Storages("", ""), Now: time.Now, Warn: warn,
		Store: protect.Store{Dir: filepath.Join(state, filepath.Base(protect.Directory)), Guard: host.Guarded}}
	return rollback.Rollback{Keeper: k}
}
