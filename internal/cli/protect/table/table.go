// Package table is plumb rollback --table: one table brought back beside a server that runs.
package table

import (
	"context"
	"fmt"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect/tables"
	view "plumb/internal/view/protect"
)

// Flags are those of rollback that are about one table.
type Flags struct {
	Table, As   string
	Memory      int64
	DryRun, Yes bool
}

// Run brings a table back from a point.
func Run(ctx context.Context, v machine.Opener, m *machine.Machine, f Flags, quiet bool, id string) error {
	name, err := tables.Parse(f.Table)
	if err != nil {
		return err
	}
	point, err := m.Keeper.Store.Get(ctx, m.Doer, id)
	if err != nil {
		return err
	}
	s, err := m.Look(ctx)
	if err != nil {
		return err
	}
	b := m.Tables()
	b.Doing = v.Doing(quiet)
	agree := func(p tables.Plan) error {
		if !quiet || f.DryRun {
			if err := v.Answer(quiet, view.TablePlanDocument(p), view.TablePlan(p, shell.Screen(v.Out))); err != nil || f.DryRun {
				return err
			}
		}
		return v.Ask(fmt.Sprintf("Bring %s back into %s, as %s?", p.Table, p.Server.Ref, p.As), f.Yes)
	}
	plan, r, err := b.Run(ctx, s, point, tables.Options{Table: name, As: f.As, Memory: f.Memory, DryRun: f.DryRun}, m.Begin(), agree)
	v.Done()
	if err != nil && r.Change > 0 {
		err = hint.With(err, fmt.Sprintf("change %d in plumb history says how far it came", r.Change))
	}
	if err != nil || f.DryRun {
		return err
	}
	return v.Answer(quiet, view.TableDocument(plan, r), view.TableBack(plan, r, shell.Screen(v.Out)))
}
