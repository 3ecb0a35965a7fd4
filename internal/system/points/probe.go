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
	"time"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/stack"
)

// Kind of the things: one for each server, named like it.
const Kind = "points"

// Probe reads the points of this host. It sees which servers run.
type Probe struct {
	// Storages tell whether the snapshots of points are there. Points on others are counted as they are written down.
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
		tell(t, now, ref, all, facts)
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

// tell sets the ages of a server's points. One of the future says nothing, and one whose snapshots are gone or cannot be
// read does not count: no copy can be started of it now.
func tell(t *stack.Thing, now time.Time, ref stack.Ref, all []protect.Point, facts map[string]keep.Facts) {
	ages := map[string]time.Duration{}
	n, lost, asked := int64(0), int64(0), true
	note := func(name string, age time.Duration, older bool) {
		if had, ok := ages[name]; !ok || older == (age > had) {
			ages[name] = age
		}
	}
	for _, p := range all {
		if p.Server.Ref != ref || p.State != protect.Taken {
			continue
		}
		known, told := facts[p.ID]
		asked = asked && told && !known.Unasked
		if known.Unusable() != "" {
			lost++
			continue
		}
		n++
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
	source := path.Join(protect.Directory, "*.json")
	t.Set("points", stack.Int(n), source)
	if asked {
		t.Set("lost", stack.Int(lost), source)
	}
	for _, name := range []string{"oldest_age", "newest_age", "proven_age"} {
		if age, ok := ages[name]; ok {
			t.Set(name, stack.Int(int64(age.Seconds())), source)
		} else {
			t.SetAbsent(name, source)
		}
	}
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
