package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/service"
	"plumb/internal/stack"
)

// Knob is what a rollback changes, as journals have it.
const Knob = "point"

// Result is what came of a rollback.
type Result struct {
	Change   int      // its number in the journal, for plumb undo; 0 when nothing was begun
	Point    string   //
	Before   []string // datasets that hold the state of just before
	Position protect.Position
	Down     time.Duration // from the stop to the first answer
	Back     string        // with an error: change.TakenBack, or what was not
}

// Run carries a plan out. With an error all of it was taken back, unless Back says otherwise.
func (r Rollback) Run(ctx context.Context, plan Plan, begin change.Begin) (res Result, err error) {
	res = Result{Point: plan.Point.ID}
	if plan.to != nil {
		settle, failed := r.forward(ctx, &plan)
		if failed != nil {
			return res, fmt.Errorf("roll %s back to %s (the server was not touched): %w", plan.Server.Ref, plan.to.Text, failed)
		}
		defer func() { err = settle(ctx, err, res) }()
	}
	if seen, err := service.Listens(ctx, r.Keeper.Do, plan.Target); err != nil || !seen { // it would not be stopped, and may be starting
		return res, errors.Join(err, hint.With(fmt.Errorf("roll %s back to point %s (nothing was changed): it no longer listens on %s", plan.Server.Ref, plan.Point.ID, plan.Target.Address),
			"start it, and look at its log; a rollback stops a server that runs"))
	}
	unlock, err := r.alone(ctx, plan)
	if err != nil {
		return res, fmt.Errorf("roll %s back to point %s (nothing was changed): %w", plan.Server.Ref, plan.Point.ID, err)
	}
	step := change.Step{Knob: stack.Knob{Of: plan.Server.Ref, Name: Knob}, To: stack.Text(plan.Point.ID), Because: "rollback to a point", Data: true}
	began := r.Keeper.Now()
	out, err := r.Executor.Apply(ctx, change.Draft{Steps: []change.Prepared{{Step: step, Recipe: plan.Recipe}}}, change.ApplyOptions{Begin: begin,
		Doing: func(_ int, a change.Act, done bool) {
			if !done {
				r.say(a.Place())
			}
		}})
	unlock()
	res.Change, res.Down = out.Number, r.Keeper.Now().Sub(began)
	if len(out.Steps) > 0 {
		res.Back = out.Steps[0].Back
	}
	// A session that broke with the stop can make it look as if nobody read our output
	// any more. Nothing is left to be cut short.
	late := context.WithoutCancel(ctx)
	if err == nil {
		for _, v := range plan.Volumes {
			res.Before = append(res.Before, v.Before)
		}
		res.Position, err = r.answer(late, plan)
	}
	r.Keeper.Tell("look where the snapshots of points lie", r.Follow(late)) // of those on a pool that is away nobody knows, and the server is back
	if err != nil {
		err = fmt.Errorf("roll %s back to point %s: %w", plan.Server.Ref, plan.Point.ID, err)
	}
	return res, err
}

// alone keeps other Plumbs from taking and destroying points of what is swapped. The snapshots of the plan must still be there: a person
// may have thought about it for long.
func (r Rollback) alone(ctx context.Context, plan Plan) (unlock func(), err error) {
	unlock, err = r.Keeper.Store.Lock(ctx, r.Keeper.Do)
	if err != nil {
		return nil, err
	}
	for _, m := range plan.Point.Members {
		st, err := r.Keeper.MemberState(ctx, r.Keeper.Do, m)
		if err == nil {
			err = st.Usable(m)
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}

func (r Rollback) say(what string) {
	if r.Doing != nil {
		r.Doing(what)
	}
}

// answer reads where the server stands now.
func (r Rollback) answer(ctx context.Context, plan Plan) (protect.Position, error) {
	e, err := r.Keeper.EngineOf(plan.Server)
	if err != nil {
		return protect.Position{}, err
	}
	return protect.Stands(ctx, r.Keeper.Do, e, plan.Target)
}

// Undoing does what takes changes back. While a rollback is among them nobody takes or destroys a point of what is swapped, and then it
// is noted where the snapshots of points lie. With an error nothing was done.
func (r Rollback) Undoing(ctx context.Context, changes []*change.Change, undo func()) error {
	swaps := func(c *change.Change) bool {
		return slices.ContainsFunc(c.Steps, func(s change.Step) bool { return s.Knob.Name == Knob })
	}
	if !slices.ContainsFunc(changes, swaps) {
		undo()
		return nil
	}
	unlock, err := r.Keeper.Store.Lock(ctx, r.Keeper.Do)
	if err != nil {
		return fmt.Errorf("undo a rollback (nothing was changed): %w", err)
	}
	undo()
	unlock()
	r.Keeper.Tell("look where the snapshots of points lie", r.Follow(context.WithoutCancel(ctx)))
	return nil
}

// Follow corrects where the snapshots of points lie: those taken after the point of a
// rollback are with the datasets of before, and after an undo they are back. A snapshot is known by its
// GUID and birth; one that is nowhere stays written down as it is.
func (r Rollback) Follow(ctx context.Context) error {
	k := r.Keeper
	all, err := k.Store.List(ctx, k.Do)
	failed := []error{err}
	for _, p := range all {
		members, ready, changed := slices.Clone(p.Members), slices.Clone(p.Ready), false
		for _, of := range [][]protect.Member{members, ready} {
			for i, m := range of {
				found, err := r.found(ctx, m)
				failed = append(failed, err)
				if err == nil && found.Snapshot != m.Snapshot {
					of[i].Name, of[i].Snapshot, changed = found.Name, found.Snapshot, true
				}
			}
		}
		if changed {
			failed = append(failed, k.Change(ctx, p.ID, func(p *protect.Point) { p.Members, p.Ready = members, ready }))
		}
	}
	return errors.Join(failed...)
}

// found looks where the snapshot of a member is: under its name, or under another of
// the dataset's. It gives the member as it is when it is nowhere.
func (r Rollback) found(ctx context.Context, m protect.Member) (protect.Member, error) {
	st, err := r.Keeper.MemberState(ctx, r.Keeper.Do, m)
	if err == nil && st.Now != "" && (m.Storage == "zfs" || m.Storage == "zfs-fuse") { // on others a rollback renames no snapshot
		m.Snapshot = st.Now
		m.Name, _, _ = strings.Cut(st.Now, "@")
	}
	return m, err
}
