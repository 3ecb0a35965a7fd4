package protect

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/instance"
	"plumb/internal/units"
	view "plumb/internal/view/protect"
)

// drilling holds the flags that say how a copy is tried.
type drilling struct {
	checks string
	ready  bool
	memory value.Size
	limit  time.Duration
}

func (d *drilling) flags(c *cobra.Command) {
	d.memory = instance.UsualMemory
	fl := c.Flags()
	fl.StringVar(&d.checks, "checks", "quick", "quick, or full: read all data with the server's own means")
	fl.BoolVar(&d.ready, "ready", false, "keep snapshots of the recovered copy, so that clones of the point start without crash recovery")
	fl.Var(&d.memory, "memory", "limit the copy's server to this `SIZE` of memory")
	fl.DurationVar(&d.limit, "max-time", time.Hour, "give up after this time, without a result")
	shell.Offer(c, map[string]shell.Words{"checks": func() []string { return []string{"quick", "full"} }})
}

func (d drilling) validate() error {
	switch {
	case d.checks != "quick" && d.checks != "full":
		return hint.Usage(fmt.Sprintf("--checks %s is not known", d.checks), "use quick or full")
	case d.limit <= 0:
		return hint.Usage(fmt.Sprintf("--max-time %s leaves no time", units.Short(d.limit)), "give something like --max-time 1h")
	}
	return nil
}

func (v *verbs) drill() *cobra.Command {
	var p machine.Place
	var d drilling
	c := &cobra.Command{
		Use:   "drill POINT",
		Short: "prove a point: start a copy of it, check it, read it, remove it",
		Long: `Drill clones the snapshots of a point, removes identity and outward connections from
the copy, starts a server on it without network and with little memory, waits for
its recovery, runs the server's own checks, reads its position, and removes all of
it again. A point that passed is proven. It is still lost with the disks that it is
on: plumb replicate and plumb backup send it elsewhere.

A copy of a point that was taken under a lock must recover exactly to the position
that was read under it. The server of the point is not touched: the copy's process
sees none of its directories. POINT is an ID, or its beginning; or DATASET@NAME for
snapshots that others took, of which nothing is recorded.

` + exits,
		Example: `  plumb drill 20261123T2105
  plumb drill 20261123T210500Z-4f3a --checks full --memory 2G`,
		Args: shell.OneArg("point"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.On(p, func(m *machine.Machine) error {
				if err := d.validate(); err != nil {
					return err
				}
				return v.runDrill(c.Context(), m, p, d, args[0])
			})
		},
	}
	p.Flags(c)
	d.flags(c)
	return c
}

func (v *verbs) runDrill(ctx context.Context, m *machine.Machine, p machine.Place, d drilling, id string) error {
	if d.ready && protect.IsForeign(id) {
		return hint.Usage("--ready is for points of Plumb", "take one with plumb snapshot")
	}
	point, err := m.Point(ctx, id)
	if err != nil {
		return err
	}
	if point, err = v.prove(ctx, m, d, point, p.JSON); err != nil {
		return err
	}
	if err := v.Answer(p.JSON, view.DrillDocument(point), view.Point(point, shell.Screen(v.Out))); err != nil {
		return err
	}
	return verdict(point)
}

// prove drills a point, and returns it as it is afterwards.
func (v *verbs) prove(ctx context.Context, m *machine.Machine, d drilling, point protect.Point, quiet bool) (protect.Point, error) {
	defer v.Done()
	run := drill.Drill{Maker: m.Copies, Full: d.checks == "full", Ready: d.ready, Limit: d.limit, Memory: int64(d.memory), Doing: v.Doing(quiet)}
	did, err := run.Run(ctx, point)
	if err != nil {
		return point, err
	}
	if point.ByOthers() {
		if point.Drill = &did; did.OK {
			point.Label = protect.Proven
		}
		return point, nil
	}
	return m.Keeper.Store.Get(ctx, m.Doer, point.ID)
}
