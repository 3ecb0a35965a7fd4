package protect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect"
	view "plumb/internal/view/protect"
)

// snapshotFlags holds the flags of snapshot.
type snapshotFlags struct {
	machine.Place
	drilling
	take   protect.TakeOptions
	dryRun bool
	with   string
	drill  bool
	waits  bool // --wait was given
}

func (v *verbs) snapshot() *cobra.Command {
	var f snapshotFlags
	c := &cobra.Command{
		Use:   "snapshot [SERVER]",
		Short: "take a point: snapshots of all data of a server at one moment",
		Long: `Snapshot takes a point: snapshots of everything a server keeps data on, taken
together, with the server's position. What the server keeps data on is found from
its process: its directories, and every file it has open. If one file is on
something that cannot be snapshotted, the point is refused, naming the file.

There are four modes, and the cheapest suitable one is taken:
  crash       nobody waits: one atomic set of snapshots that survives a power cut
  locked      commits wait while the snapshots are taken
  backup-api  the server's own protocol for copies that are not of one moment
  freeze      the server's processes are stopped; only with --mode freeze
--dry-run shows each with its reason, the statements for the server, and who waits.
It takes no lock and makes nothing.

Plumb proves that the lock held: the same connection, and the same position, before
and after. If a proof fails, the point counts as a crash point, and the exit code
says so. Only plumb drill, or --drill here, shows that a server starts on a point. A
point is lost with the disks that it is on: plumb replicate and plumb backup send it
elsewhere.

` + exits,
		Example: `  plumb snapshot --dry-run              what would be taken, how, and who waits
  plumb snapshot mysql:3306
  plumb snapshot --drill                also prove that it starts
  plumb snapshot postgres --mode locked --wait 10s`,
		Args: shell.AtMostOneArg("server"),
		RunE: func(c *cobra.Command, args []string) error {
			f.waits = c.Flags().Changed("wait")
			return v.On(f.Place, func(m *machine.Machine) error { return v.runSnapshot(c.Context(), m, f, append(args, "")[0]) })
		},
	}
	f.Place.Flags(c)
	fl := c.Flags()
	fl.StringVar(&f.take.Mode, "mode", "", "take it in this `MODE`: crash, locked, backup-api or freeze; default: the cheapest suitable one")
	fl.DurationVar(&f.take.Wait, "wait", 5*time.Second, "give up if the lock is not granted within this time: other sessions queue behind it")
	fl.DurationVar(&f.take.Hold, "hold", 10*time.Second, "release the lock after this time; the point is then refused")
	fl.StringVar(&f.with, "with", "", "take the snapshots with this shell `COMMAND`. It gets the word take in PLUMB_DO, the point's name in PLUMB_POINT and the volumes in PLUMB_VOLUMES, one per line, and prints an identity by which prune --with recognises them. The word ebs stands for a built-in one that takes EBS snapshots with aws")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show how it would be taken, and do nothing")
	fl.BoolVar(&f.drill, "drill", false, "afterwards start a copy and check it, as plumb drill does")
	f.drilling.flags(c)
	for _, name := range []string{"checks", "ready", "memory", "max-time"} {
		shell.OnlyWith(c, name, "drill")
	}
	shell.Offer(c, map[string]shell.Words{"mode": modes})
	return c
}

func modes() []string {
	return []string{protect.ModeCrash, protect.ModeLocked, protect.ModeBackupAPI, protect.ModeFreeze}
}

func (f snapshotFlags) validate() error {
	if f.take.Wait <= 0 || f.take.Hold <= 0 {
		return hint.Usage("--wait and --hold need a time", "give something like --wait 5s")
	}
	if f.dryRun && f.drill {
		return hint.Usage("--dry-run makes no point that --drill could start", "give one of them")
	}
	if f.waits && (f.take.Mode == protect.ModeCrash || f.take.Mode == protect.ModeFreeze) {
		return hint.Usage("--wait is for a lock, but none is taken in mode "+f.take.Mode, "leave it out, or name another mode")
	}
	return f.drilling.validate()
}

func (v *verbs) runSnapshot(ctx context.Context, m *machine.Machine, f snapshotFlags, server string) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.with != "" {
		m.Keeper.Storages = v.Storages(f.with, "")
	}
	s, err := m.Look(ctx)
	if err != nil {
		return err
	}
	ref, err := m.Server(s, server)
	if err != nil {
		return err
	}
	plan, err := m.Keeper.Plan(ctx, m.Seen, s, ref)
	if err != nil {
		return err
	}
	if f.dryRun {
		return v.dryRun(plan, f)
	}
	point, err := m.Keeper.Take(ctx, plan, f.take)
	if point.ID == "" {
		return err
	}
	if f.drill && err == nil {
		point, err = v.prove(ctx, m, f.drilling, point, f.JSON)
	}
	if err := errors.Join(v.Answer(f.JSON, view.SnapshotDocument(plan, point), view.Point(point, shell.Screen(v.Out))), err); err != nil {
		return err
	}
	return verdict(point)
}

// dryRun shows how a point would be taken.
func (v *verbs) dryRun(plan protect.Plan, f snapshotFlags) error {
	mode, refused := plan.Choose(f.take.Mode)
	if err := plan.Possible(); err != nil {
		refused = err
	}
	if hint.AsUsage(refused) != nil {
		return refused
	}
	if err := v.Answer(f.JSON, view.PlanDocument(plan, mode.Name, refused), view.Plan(plan, mode.Name, refused, shell.Screen(v.Out))); err != nil {
		return err
	}
	if refused != nil {
		return fmt.Errorf("a snapshot would be refused: %w", refused)
	}
	return nil
}

// verdict is the error whose exit code says that less was proven of a point than was asked for.
func verdict(p protect.Point) error {
	if p.Fell() != "" || p.Drill != nil && !p.Drill.OK {
		return shell.ErrMarked
	}
	return nil
}
