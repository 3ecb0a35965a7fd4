// Package prune carries out what package keep decides: it looks at the snapshots of all
// points, makes the plans, and destroys what goes, one point after the other.
//
// Making a plan ([Pruner.Plan]) only reads. When it is carried out ([Pruner.Carry]) each
// point is read again under the lock of the store, and only goes if it has not changed
// and would be planned to go again. That it goes is written down first, so that the next
// run finishes what a killed run began.
package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
)

// Pruner prunes the points of a host.
type Pruner struct {
	Keeper *protect.Keeper
}

// Options of a plan.
type Options struct {
	Server   stack.Ref // zero for all
	Rules    keep.Rules
	AllRight int // see keep.Options
	// Point is the ID, or the beginning of it, of the one point that goes, whatever the rules say; "" to go by the rules.
	Point string
	// Forget lets Point go although a part of its storage does not answer. See protect.Keeper.Forget.
	Forget bool
}

// Outcome says what became of one point.
type Outcome struct {
	Point string `json:"point"`
	Gone  bool   `json:"gone"`
	Ended bool   `json:"ended,omitempty"` // nothing but its record was left of it
	Why   string `json:"why,omitempty"`   // it is not gone; "" when it is
	Hint  string `json:"hint,omitempty"`
	// Left are its snapshots that were left where they are, and are on no list any more.
	Left []protect.Member `json:"left,omitempty"`
}

// Plan decides for each server what goes. It only reads. It fails if the file of any point cannot be
// read, as that point may need others, or be the last proven one.
func (p Pruner) Plan(ctx context.Context, h host.Reader, o Options) ([]keep.Plan, error) {
	if o.Point != "" {
		return p.named(ctx, h, o)
	}
	all, err := p.list(ctx, h, o.Server)
	if err != nil {
		return nil, err
	}
	return keep.Judge(p.Keeper.Now(), all, p.Facts(ctx, h, all), o.Rules, keep.Options{AllRight: o.AllRight}), nil
}

// list reads the points of a server, or of all when it is zero.
func (p Pruner) list(ctx context.Context, h host.Reader, server stack.Ref) ([]protect.Point, error) {
	all, err := p.Keeper.Store.List(ctx, h)
	if err != nil {
		return nil, hint.With(fmt.Errorf("read the points: %w", err), "nothing is pruned while a point cannot be read: repair its file, or move it away")
	}
	return slices.DeleteFunc(all, func(pt protect.Point) bool { return !server.IsZero() && pt.Server.Ref != server }), nil
}

// named plans that one point goes. It is an error if something keeps the point.
func (p Pruner) named(ctx context.Context, h host.Reader, o Options) ([]keep.Plan, error) {
	pt, err := p.Keeper.Store.Get(ctx, h, o.Point)
	if err == nil && o.Forget {
		pt, err = p.Keeper.Unanswered(ctx, h, pt)
	}
	if err != nil {
		return nil, err
	}
	facts := p.Facts(ctx, h, []protect.Point{pt})
	if err := p.free(ctx, h, pt, facts[pt.ID].Unread); err != nil {
		return nil, err
	}
	plans := keep.Named([]protect.Point{pt}, facts, map[string]bool{pt.ID: true}, keep.Words{})
	if p.lastProven(ctx, h, pt) {
		plans[0].Fates[0].Why = append(plans[0].Fates[0].Why, "it is the last of "+pt.Server.Ref.String()+" that is proven")
	}
	return plans, nil
}

// free is an error if something keeps a point that was named.
func (p Pruner) free(ctx context.Context, h host.Reader, pt protect.Point, unread string) error {
	cannot := func(why, help string) error {
		return hint.With(fmt.Errorf("point %s cannot be destroyed: %s", pt.ID, why), help)
	}
	if unread != "" {
		return cannot(unread, fmt.Sprintf("nothing of it was destroyed. If that storage is gone for good, plumb prune %s --forget drops the record of the point", pt.ID))
	}
	if pt.State != protect.Taken && len(pt.Leaves()) == 0 {
		return nil // what was begun is finished
	}
	why, err := p.Keeper.Needed(ctx, h, pt)
	if err == nil && len(why) > 0 {
		err = cannot(strings.Join(why, "; "), "nothing of it was destroyed")
	}
	return err
}

// lastProven tells whether no other point of its server is proven and still there, as far as can be read.
func (p Pruner) lastProven(ctx context.Context, h host.Reader, pt protect.Point) bool {
	if pt.Label != protect.Proven {
		return false
	}
	all, _ := p.Keeper.Store.List(ctx, h) // those that cannot be read do not count
	others := slices.DeleteFunc(all, func(o protect.Point) bool {
		return o.ID == pt.ID || o.State != protect.Taken || o.Label != protect.Proven || o.Server.Ref != pt.Server.Ref || o.Server.Identity != pt.Server.Identity
	})
	facts := p.Facts(ctx, h, others)
	return !slices.ContainsFunc(others, func(o protect.Point) bool { return facts[o.ID].Unusable() == "" })
}

// FactsBy is Facts for those who have no Keeper but only storages.
func FactsBy(ctx context.Context, h host.Reader, storages []protect.Storage, points []protect.Point) map[string]keep.Facts {
	return Pruner{Keeper: &protect.Keeper{Storages: storages}}.Facts(ctx, h, points)
}

// Facts asks storage about the snapshots of points, and returns what it says by point ID. It only reads. Points that are being taken or
// destroyed have no facts.
func (p Pruner) Facts(ctx context.Context, h host.Reader, points []protect.Point) map[string]keep.Facts {
	var all []protect.Member
	first := map[string]int{} // of its snapshots, by point
	for _, pt := range points {
		if pt.State != protect.Taken {
			continue
		}
		first[pt.ID] = len(all)
		for _, m := range slices.Concat(pt.Members, pt.Ready) {
			if m.Left != "" || p.Keeper.Unable(m) != "" {
				m.Snapshot = "" // so that storage is not asked about it
			}
			all = append(all, m)
		}
	}
	answers := p.Keeper.MemberStates(ctx, h, all)
	facts := map[string]keep.Facts{}
	for _, pt := range points {
		if i, asked := first[pt.ID]; asked {
			facts[pt.ID] = p.facts(pt, answers[i:])
		}
	}
	return facts
}

// facts sums up the answers about a point's snapshots, which are in the order of its members and then its ready copy's.
func (p Pruner) facts(pt protect.Point, answers []protect.Answer) (f keep.Facts) {
	there := len(pt.Members) == 0 // whether anything of it is there, or may be
	all := slices.Concat(pt.Members, pt.Ready)
	for i, m := range all {
		if slices.ContainsFunc(all[:i], m.Same) {
			continue // one snapshot of what the server has mounted twice
		}
		if m.Left != "" {
			f.Space, there = -1, true
			continue
		}
		if why := p.Keeper.Unable(m); why != "" {
			f.Unread, f.Unasked, f.Space = why, true, -1
			return f
		}
		s, err := answers[i].MemberState, answers[i].Err
		if err != nil { // on a tape, an older Plumb may not have looked
			f.Unread, f.Unasked, f.Space = err.Error(), errors.Is(err, host.ErrNotOnTape), -1
			return f
		}
		own := i < len(pt.Members)
		if own {
			f.Gone = append(f.Gone, s.Lacks...)
		}
		switch {
		case s.Gone || s.Other:
			there = there || s.Now != "" || p.Keeper.Told(m)
			switch {
			case !own: // without its ready copy a point is as good as before
			case s.Now != "":
				f.Moved = append(f.Moved, m.Snapshot+" is "+s.Now+" now")
			default:
				f.Gone = append(f.Gone, m.Snapshot)
			}
			continue
		case s.Space < 0 || f.Space < 0:
			f.Space = -1
		default:
			f.Space += s.Space
		}
		there = true
		f.Held = f.Held || s.Held
		for _, clone := range s.Clones {
			if !pt.OwnCopy(clone) {
				f.Clones = append(f.Clones, clone)
			}
		}
	}
	f.Ended = !there
	return f
}

// Carry destroys the points that go by a plan, the oldest first. One that fails does not keep it from the others. If the plan has a
// brake nothing is destroyed, and the error says why.
func (p Pruner) Carry(ctx context.Context, plan keep.Plan) (done []Outcome, err error) {
	if err := plan.Stopped(); err != nil {
		return nil, err
	}
	var failed []error
	for _, f := range plan.Going() {
		if ctx.Err() != nil {
			return done, errors.Join(append(failed, ctx.Err())...)
		}
		o := Outcome{Point: f.Point.ID, Left: f.Point.Leaves(), Ended: f.Record()}
		destroy := p.Keeper.DestroyIf
		if len(o.Left) > 0 {
			destroy = p.Keeper.Forget
		}
		err := destroy(ctx, f.Point.ID, func(now protect.Point) error { return p.as(ctx, plan, f, now) }, f.Why...)
		switch {
		case errors.Is(err, protect.ErrNoPoint):
			continue // another prune was faster
		case err != nil:
			o.Why, o.Hint = err.Error(), hint.Of(err)
			failed = append(failed, err)
		default:
			o.Gone = true
		}
		done = append(done, o)
	}
	return done, errors.Join(failed...)
}

// as is an error unless a point is as it was planned, and would be planned to go again. If only its record was to go, its snapshots must
// still be gone: a pool can have come back.
func (p Pruner) as(ctx context.Context, plan keep.Plan, f keep.Fate, now protect.Point) error {
	if err := same(f.Point, now); err != nil || plan.Named() && !f.Record() {
		return err
	}
	all, err := []protect.Point{now}, error(nil)
	if !plan.Named() {
		if all, err = p.list(ctx, p.Keeper.Do, now.Server.Ref); err != nil {
			return err
		}
	}
	facts := p.Facts(ctx, p.Keeper.Do, all)
	if f.Record() && !facts[now.ID].Ended {
		return errors.New("all of its snapshots were gone when that was decided, but are there now")
	}
	return plan.Again(p.Keeper.Now(), now.ID, all, facts)
}

// same is an error that says how a point differs from the one that was planned; nil when it does not.
func same(planned, now protect.Point) error {
	member := func(a, b protect.Member) bool {
		return a.Storage == b.Storage && a.Snapshot == b.Snapshot && a.GUID == b.GUID && a.Birth == b.Birth && (a.Left == "") == (b.Left == "")
	}
	switch {
	case planned.State != now.State:
		return fmt.Errorf("it was %s when that was decided, but is %s now", planned.State, now.State)
	case planned.Label != now.Label:
		return fmt.Errorf("it was %s when that was decided, but is %s now", planned.Label, now.Label)
	case !slices.EqualFunc(planned.Members, now.Members, member):
		return errors.New("its snapshots, or which of them can be read, have changed since that was decided")
	}
	return nil
}
