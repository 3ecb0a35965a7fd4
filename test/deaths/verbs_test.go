package deaths

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/instance"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/prune"
	"plumb/internal/protect/tables"
	"plumb/internal/stack"
)

// TestEveryDeath kills each verb at some of its operations, at more when time is given, and else at all.
func TestEveryDeath(t *testing.T) {
	s := OnBtrfs(t)
	stride := Stride()
	for _, v := range append(s.verbs(), s.policy(t)) {
		t.Run(v.Name, func(t *testing.T) { s.Try(t, v, stride) })
	}
}

// verbs are those that are killed.
func (s *Scene) verbs() []Verb {
	name := filepath.Base(s.Box.Dir) // control groups have it, and must differ from those of other tests
	dev := clone.Options{Name: name, Purpose: protect.ForUse, Memory: 256 << 20, Masks: []string{"echo masked >masked"}}
	look := clone.Options{Name: name, Purpose: protect.ForBrowse}
	follow := clone.Options{Name: name, Purpose: protect.ForReplica, Memory: 256 << 20, Source: &protect.Source{Network: "unix", Address: "/nowhere"}}
	clean := []Act{drop(name), swept}
	return []Verb{
		{Name: "clone", Do: s.clone(dev), Next: []Act{s.again(dev), drop(name), swept}, After: clean},
		{Name: "clone browse", Do: s.clone(look), Next: []Act{s.again(look), drop(name)}, After: clean},
		{Name: "clone replica", Do: s.clone(follow), Next: []Act{s.again(follow), drop(name)}, After: clean},
		{Name: "clone count", Do: all(s.clone(named(dev, name+"-1")), s.clone(named(dev, name+"-2"))), Next: []Act{all(drop(name+"-2"), drop(name+"-1")), swept}, After: []Act{drop(name + "-1"), drop(name + "-2"), swept}},
		{Name: "clone refresh", Before: []Act{s.clone(dev)}, Do: s.refresh(name), Next: []Act{all(s.refresh(name), masked(name)), drop(name)}, After: clean},
		{Name: "clone drop", Before: []Act{s.clone(dev)}, Do: drop(name), Next: []Act{drop(name), swept}, After: clean},
		{Name: "drill", Do: s.drill(false), Next: []Act{s.drill(false), s.drill(true), swept}, After: []Act{swept, s.unready}},
		{Name: "drill ready", Do: s.drill(true), Next: []Act{s.drill(true), s.drill(false), s.clone(dev), swept}, After: append(clean, s.unready)},
		{Name: "snapshot", Do: s.take, Next: []Act{s.take, swept}, After: []Act{s.destroyOthers, swept}},
		{Name: "snapshot crash", Do: s.takeAs(s.alone()), Next: []Act{s.takeAs(s.alone()), swept}, After: []Act{s.destroyOthers, swept}},
		{Name: "snapshot in order", Do: s.takeAs(s.inOrder()), Next: []Act{s.takeAs(s.inOrder()), swept}, After: []Act{s.destroyOthers, swept}},
		{Name: "lend", Do: s.lend(name), Next: []Act{s.lend(name), s.take, swept}, After: []Act{swept, s.destroyOthers, swept}},
		{Name: "destroy", Before: []Act{s.take}, Do: s.destroyOthers, Next: []Act{s.destroyOthers, s.take}, After: []Act{s.destroyOthers, swept}},
		{Name: "prune", Before: []Act{s.hold, s.take, s.take, s.take}, Do: s.prune, Next: []Act{all(s.prune, s.kept), all(swept, s.prune, s.kept), all(s.take, s.prune, s.kept)}, After: []Act{s.release, s.destroyOthers, swept}},
		{Name: "table", Do: s.table, Next: []Act{s.table}, After: []Act{TakeBack, swept}},
	}
}

// all does several acts, to the first error.
func all(acts ...Act) Act {
	return func(ctx context.Context, h *Hands) error {
		for _, act := range acts {
			if err := act(ctx, h); err != nil {
				return err
			}
		}
		return nil
	}
}

func named(o clone.Options, name string) clone.Options {
	o.Name = name
	return o
}

// point reads the scene's point as it is written now.
func (s *Scene) point(ctx context.Context, h *Hands) (protect.Point, error) {
	return h.Keeper.Store.Get(ctx, h.Keeper.Do, s.Point.ID)
}

func (s *Scene) clone(o clone.Options) Act {
	return func(ctx context.Context, h *Hands) error {
		p, err := s.point(ctx, h)
		if err == nil {
			_, err = h.Clones.Make(ctx, p, o)
		}
		return err
	}
}

// again is the same clone once more, unless it is there already.
func (s *Scene) again(o clone.Options) Act {
	return func(ctx context.Context, h *Hands) error {
		if c, err := h.Clones.Get(ctx, h.Keeper.Do, o.Name); err == nil && c.State == clone.Made {
			return nil
		}
		return s.clone(o)(ctx, h)
	}
}

func (s *Scene) refresh(name string) Act {
	return func(ctx context.Context, h *Hands) error {
		p, err := s.point(ctx, h)
		if err == nil {
			_, err = h.Clones.Refresh(ctx, name, p, nil)
		}
		return err
	}
}

// masked wants that a clone has not lost its mask.
func masked(name string) Act {
	return func(ctx context.Context, h *Hands) error {
		c, err := h.Clones.Get(ctx, h.Keeper.Do, name)
		if err == nil && (c.State != clone.Made || len(c.Masks) != 1) {
			err = errors.New("it is not whole, or has lost its mask")
		}
		return err
	}
}

func drop(name string) Act {
	return func(ctx context.Context, h *Hands) error {
		err := h.Clones.Drop(ctx, name)
		if errors.Is(err, clone.ErrNoClone) {
			err = nil
		}
		return err
	}
}

// swept is what plumb prune does before it looks at the points.
func swept(ctx context.Context, h *Hands) error {
	return errors.Join(h.Clones.Sweep(ctx), h.Keeper.Sweep(ctx))
}

func (s *Scene) drill(ready bool) Act {
	return func(ctx context.Context, h *Hands) error {
		p, err := s.point(ctx, h)
		if err != nil || ready && len(p.Ready) > 0 {
			return err
		}
		did, err := drill.Drill{Maker: h.Copies, Ready: ready, Memory: 256 << 20}.Run(ctx, p)
		if err == nil && !did.OK {
			err = errors.New(did.Why)
		}
		return err
	}
}

// unready takes away what a drill has kept: a point goes with it, so another one is taken of all that it was.
func (s *Scene) unready(ctx context.Context, h *Hands) error {
	p, err := s.point(ctx, h)
	if err != nil {
		return err
	}
	if err := h.Keeper.Forgo(ctx, p.ReadyOwner(), p.Ready); err != nil {
		return err
	}
	return h.Keeper.Readied(ctx, p.ID, nil)
}

func (s *Scene) take(ctx context.Context, h *Hands) error { return s.takeAs(s.Plan)(ctx, h) }

func (s *Scene) takeAs(plan protect.Plan) Act {
	return func(ctx context.Context, h *Hands) error {
		_, err := h.Keeper.Take(ctx, plan, protect.TakeOptions{})
		return err
	}
}

// alone is a server on one volume, whose point is of one moment without a lock.
func (s *Scene) alone() protect.Plan {
	plan := s.Plan
	plan.Set.Volumes = plan.Set.Volumes[:1]
	plan.Modes = []protect.Mode{{Name: protect.ModeCrash}}
	return plan
}

// inOrder is a server with a protocol for volumes that are taken one by one.
func (s *Scene) inOrder() protect.Plan {
	plan := s.Plan
	plan.Modes = []protect.Mode{{Name: protect.ModeBackupAPI, Order: []string{plan.Set.Volumes[0].Mountpoint, plan.Set.Volumes[1].Mountpoint}}}
	return plan
}

// lend takes a point that goes with this process, and shows its files.
func (s *Scene) lend(name string) Act {
	return func(ctx context.Context, h *Hands) (err error) {
		p, giveBack, err := h.Keeper.TakeLent(ctx, s.Plan, protect.TakeOptions{})
		defer func() { err = errors.Join(err, giveBack(ctx)) }()
		if err != nil {
			return err
		}
		c, err := h.Copies.Make(ctx, p, instance.Options{Name: name + "-lent", Purpose: protect.ForBrowse, Number: 1})
		if err == nil {
			err = c.Remove(ctx)
		}
		return err
	}
}

const owner = "deaths"

// hold keeps the scene's point from being pruned.
func (s *Scene) hold(ctx context.Context, h *Hands) error {
	return h.Keeper.Hold(ctx, s.Point.ID, owner)
}

func (s *Scene) release(ctx context.Context, h *Hands) error {
	return h.Keeper.Release(ctx, s.Point.ID, owner)
}

// prune destroys all but the newest point, and the one that is held, as the command does.
func (s *Scene) prune(ctx context.Context, h *Hands) error {
	plans, err := h.Prune.Plan(ctx, h.Keeper.Do, prune.Options{Rules: keep.Rules{Last: 1}, AllRight: 3})
	for _, plan := range plans {
		_, failed := h.Prune.Carry(ctx, plan)
		err = errors.Join(err, failed)
	}
	return err
}

// kept wants that a prune has left what it was to leave, whole, and nothing else.
func (s *Scene) kept(ctx context.Context, h *Hands) error {
	all, err := h.Keeper.Store.List(ctx, h.Keeper.Do)
	if err == nil && (len(all) != 2 || all[0].ID != s.Point.ID) {
		err = fmt.Errorf("%d points are left", len(all))
	}
	for _, p := range all {
		if err == nil {
			err = h.Copies.There(ctx, p.Members)
		}
	}
	return err
}

// destroyOthers prunes all points but that of the scene.
func (s *Scene) destroyOthers(ctx context.Context, h *Hands) error {
	points, err := h.Keeper.Store.List(ctx, h.Keeper.Do)
	for _, p := range points {
		if p.ID != s.Point.ID && err == nil {
			err = h.Keeper.Destroy(ctx, p.ID)
		}
	}
	return err
}

// table brings a table back, unless it is there already.
func (s *Scene) table(ctx context.Context, h *Hands) error {
	_, _, err := h.Tables.Run(ctx, &stack.Stack{}, s.Point, tables.Options{Table: tables.Name{"shop", "orders"}, As: "back", Memory: 256 << 20},
		change.Begin{Host: "here", User: "root"}, func(tables.Plan) error { return nil })
	if err != nil && strings.Contains(err.Error(), "there is a table") { // all was done but the note of it
		err = nil
	}
	return err
}
