// Package points reads what Plumb wrote down of points in time: which servers have some,
// how old they are, whether their snapshots are still there, and what the runs of a policy could not do.
//
// Where points were never taken there is nothing of this kind, and so no rule about it:
// how else a host is backed up cannot be seen from here.
package points

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Kind of the things: one for each server, named like it.
const Kind = "points"

// Probe reads the points of this host. It sees which servers run.
type Probe struct {
	// Storages tell whether the snapshots of points are there. Of points on others that is not known.
	Storages []protect.Storage
}

// Name implements observe.Probe.
func (Probe) Name() string { return "points" }

// Cost implements observe.Probe. Each point is a file, and its snapshots are asked for: of ZFS with those of the other points.
func (Probe) Cost() observe.Cost {
	each := observe.Requests{Files: 4, Commands: 6}
	return observe.Cost{Every: time.Minute, Once: observe.Requests{Files: 2}, Each: map[string]observe.Requests{"points.points": each, "points.lost": each}}
}

// Collect implements observe.Probe.
func (p Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (obs stack.Observation, err error) {
	all, err := protect.Store{Dir: protect.Directory}.List(ctx, h)
	if unasked(err) {
		return obs, nil
	}
	if err != nil { // the others are there; without those that could not be read nothing is right
		return obs, fmt.Errorf("read the points in %s: %w", protect.Directory, err)
	}
	memory, err := policy.Remember(ctx, h, policy.File)
	if err != nil && !unasked(err) {
		return obs, err
	}
	now, facts := h.About().Taken, prune.FactsBy(ctx, h, p.Storages, all)
	for _, ref := range servers(all, memory) {
		t := obs.New(Kind, ref.String())
		t.Set("server", stack.Text(ref.String()), protect.Directory)
		t.Set("server_runs", stack.Bool(seen.Find(ref) != nil), "this check")
		tell(&obs, t, now, ref, all, facts)
		remember(t, ref, memory)
	}
	return obs, nil
}

// unasked tells whether nothing was ever written down, or the tape is of a Plumb that
// did not look.
func unasked(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, host.ErrNotOnTape)
}

// servers lists those that have points, or that a policy names.
func servers(all []protect.Point, m policy.Memory) (refs []stack.Ref) {
	had := map[stack.Ref]bool{}
	add := func(ref stack.Ref) {
		if !had[ref] {
			had[ref] = true
			refs = append(refs, ref)
		}
	}
	for _, p := range all {
		add(p.Server.Ref)
	}
	for _, l := range m.Lasts {
		add(l.Server)
	}
	return refs
}

// tell sets how many points a server has, and their ages. One whose snapshots are gone or cannot be read does not count: no
// copy can be started of it now. Of one whose storage was not asked nobody knows, and what depends on it is not known.
func tell(obs *stack.Observation, t *stack.Thing, now time.Time, ref stack.Ref, all []protect.Point, facts map[string]keep.Facts) {
	var there, unasked []protect.Point
	lost := int64(0)
	for _, p := range all {
		if p.Server.Ref != ref || p.State != protect.Taken {
			continue
		}
		switch known := facts[p.ID]; {
		case known.Unasked:
			unasked = append(unasked, p)
		case known.Unusable() != "":
			lost++
		default:
			there = append(there, p)
		}
	}
	source := path.Join(protect.Directory, "*.json")
	t.Set("lost", stack.Int(lost), source)
	sure, best := ages(now, there), ages(now, slices.Concat(there, unasked))
	var open []string
	if len(unasked) == 0 {
		t.Set("points", stack.Int(int64(len(there))), source)
	} else {
		open = append(open, "points")
	}
	for _, name := range []string{"oldest_age", "newest_age", "proven_age"} {
		age, ok := sure[name]
		maybe, other := best[name]
		switch {
		case ok != other || age != maybe:
			open = append(open, name)
		case ok:
			t.Set(name, stack.Int(int64(age.Seconds())), source)
		default:
			t.SetAbsent(name, source)
		}
	}
	if len(open) > 0 {
		obs.Gap(t.Ref, fmt.Sprintf("whether the snapshots of %s are still there is not known: %s", units.Count(len(unasked), "point"), facts[unasked[0].ID].Unread), "", open...)
	}
}

// ages of the oldest and the newest of some points, and of the newest that is proven. One of the future says nothing.
func ages(now time.Time, points []protect.Point) map[string]time.Duration {
	all := map[string]time.Duration{}
	note := func(name string, age time.Duration, older bool) {
		if had, ok := all[name]; !ok || older == (age > had) {
			all[name] = age
		}
	}
	for _, p := range points {
		age := now.Sub(keep.At(p))
		if age < 0 {
			continue
		}
		note("oldest_age", age, true)
		note("newest_age", age, false)
		if p.Label == protect.Proven {
			note("proven_age", age, false)
		}
	}
	return all
}

// remember sets what the runs of a policy say.
func remember(t *stack.Thing, ref stack.Ref, m policy.Memory) {
	named := false
	var failing []string
	for _, l := range m.Lasts {
		if l.Server != ref {
			continue
		}
		named = true
		if l.Fails() {
			failing = append(failing, string(l.Kind)+": "+l.Why)
		}
	}
	t.Set("in_policy", stack.Bool(named), policy.File)
	t.Set("failing", stack.List(failing), policy.File)
}
