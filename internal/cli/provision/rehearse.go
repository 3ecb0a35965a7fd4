package provision

import (
	"context"
	"fmt"

	"plumb/internal/change"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/provision/rehearsal"
	view "plumb/internal/view/provision"
)

// tries tells whether the new version is tried on a copy first.
func (v *swapping) tries(w *swap) bool {
	_, can := w.by.(rehearsal.Rehearser)
	return can && !v.unrehearsed
}

// prepare brings the programs of the new version, and tries them. Where that fails, they go again.
func (v *swapping) prepare(ctx context.Context, w *swap, first provision.Stage, to product.Release) error {
	if !first.Done {
		if _, err := w.run.Stage(ctx, first); err != nil {
			return err
		}
	}
	if !v.tries(w) {
		return nil
	}
	err := v.rehearse(ctx, w, to)
	if err == nil {
		return nil
	}
	all, listed := w.run.Stages(ctx)
	if listed == nil && len(all) > 0 && isFirst(all[len(all)-1]) {
		listed = w.Executor.Undo(context.WithoutCancel(ctx), []int{all[len(all)-1].Number}, change.UndoOptions{})
	}
	if listed != nil {
		err = fmt.Errorf("%w (and what was fetched for it is still there: %w)", err, listed)
	}
	return err
}

// rehearse takes a point, and tries the new version on a copy of it.
func (v *swapping) rehearse(ctx context.Context, w *swap, to product.Release) error {
	at := machine.At(v.state)
	at.Source = v.Source
	opener := machine.Opener{Shell: v.Shell, Adapters: v.Points}
	return opener.On(at, func(m *machine.Machine) error {
		defer opener.Done()
		plan, err := m.Keeper.Plan(ctx, m.Doer, w.Stack, w.home.Server)
		if err == nil {
			err = plan.Possible()
		}
		if err != nil {
			return hint.With(fmt.Errorf("no copy can be made on which %s could be tried first, and nothing was done: %w", to, err), "--unrehearsed swaps without")
		}
		p, err := m.Keeper.Take(ctx, plan, protect.TakeOptions{})
		if err != nil {
			return fmt.Errorf("take a point to try %s on, and nothing was done: %w", to, err)
		}
		r := rehearsal.Rehearsal{Copies: m.Copies, Doing: m.Clones.Doing}
		res, err := r.Run(ctx, p, w.by.(rehearsal.Rehearser).Release(provision.Swap{Home: w.home, Stack: w.Stack, To: to}))
		opener.Done()
		if err != nil {
			return fmt.Errorf("the server was not touched, and goes on as it is: %w", err)
		}
		return v.Print(view.Rehearsed(to, p, res, shell.Screen(v.Out)))
	})
}
