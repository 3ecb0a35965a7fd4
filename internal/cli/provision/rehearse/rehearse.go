// Package rehearse tries a swap on a copy of a point of this machine, before it is carried out.
package rehearse

import (
	"context"
	"fmt"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/provision/rehearsal"
	view "plumb/internal/view/provision"
)

// Rehearse tries swaps for plumb provision swap.
type Rehearse struct {
	Shell  *shell.Shell
	Points machine.Adapters
}

// Of returns what tries a swap; nil if its ways cannot be tried. source and state are the flags of the command.
func (r Rehearse) Of(by provision.Swapper) func(ctx context.Context, source shell.Source, state string, w provision.Swap) error {
	can, ok := by.(rehearsal.Rehearser)
	if !ok {
		return nil
	}
	return func(ctx context.Context, source shell.Source, state string, w provision.Swap) error {
		at := machine.At(state)
		at.Source = source
		opener := machine.Opener{Shell: r.Shell, Adapters: r.Points}
		return opener.On(at, func(m *machine.Machine) error { return try(ctx, opener, m, w, can) })
	}
}

// try takes a point, and tries the release on a copy of it.
func try(ctx context.Context, opener machine.Opener, m *machine.Machine, w provision.Swap, can rehearsal.Rehearser) error {
	to, err := can.Release(ctx, m.Doer, w)
	if err == nil {
		err = to.Possible(ctx, m.Doer)
	}
	if err != nil {
		return fmt.Errorf("check whether %s can be used for the server (nothing was done to it): %w", w.To, err)
	}
	plan, err := m.Keeper.Plan(ctx, m.Doer, w.Stack, w.Home.Server)
	if err == nil {
		err = plan.Possible()
	}
	if err != nil {
		return hint.With(fmt.Errorf("no copy can be made to try %s on first, so nothing was done: %w", w.To, err), "--unrehearsed swaps without")
	}
	p, err := m.Keeper.Take(ctx, plan, protect.TakeOptions{})
	if err != nil {
		return fmt.Errorf("take a point to try %s on, and nothing was done: %w", w.To, err)
	}
	res, err := rehearsal.Rehearsal{Copies: m.Copies, Doing: m.Clones.Doing}.Run(ctx, p, to)
	opener.Done()
	if err != nil {
		return fmt.Errorf("the server was not touched, and runs on as before: %w", err)
	}
	return opener.Print(view.Rehearsed(w.To, p, res, shell.Screen(opener.Out)))
}
