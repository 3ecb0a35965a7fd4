package rehearse

import (
	"path"
	"slices"

	"plumb/internal/advise"
	"plumb/internal/stack"
)

// concerning leaves out the steps on other servers and on what only they
// stand on: a rehearsal is about one server, and so is the plan of what is kept.
func (d *draft) concerning(steps []advise.Step) []advise.Step {
	own := standsOn(d.stack, d.server)
	var others []*stack.Thing
	for _, kind := range servers {
		for _, t := range d.stack.OfKind(kind) {
			if t != d.server {
				others = append(others, t)
			}
		}
	}
	theirs := standsOn(d.stack, others...)
	placed := linked(d.stack, d.server, "data") != nil
	for _, k := range kept {
		_, gap := d.stack.GapFor(d.server.Ref, k.role)
		placed = placed && !gap
	}
	return slices.DeleteFunc(slices.Clone(steps), func(a advise.Step) bool {
		of := a.Knob.Of
		switch {
		case of == d.server.Ref:
			return false
		case slices.Contains(servers, of.Kind):
			return true
		case !slices.Contains(parts, of.Kind) || holds(own, of):
			return false
		}
		return placed || holds(theirs, of) // where nobody knows what a server stands on, it may be that
	})
}

// servers are the kinds of things of which a rehearsal is about one, and parts
// those that one server may stand on and another not. The kernel, the
// machine and the ZFS module are everybody's.
var (
	servers = []string{"mysql", "postgres", "mongo", "proxysql"}
	parts   = []string{"filesystem", "dataset", "pool", "block", "process", "cgroup", "memory"}
)

// standsOn gives all that links lead to from some things: they lead down, from
// a server to its disks, its process and that one's control group.
func standsOn(s *stack.Stack, from ...*stack.Thing) map[stack.Ref]bool {
	seen := map[stack.Ref]bool{}
	for len(from) > 0 {
		t := from[0]
		from = from[1:]
		if seen[t.Ref] {
			continue
		}
		seen[t.Ref] = true
		for name := range t.Links {
			next, _ := s.Follow(t, name)
			from = append(from, next...)
		}
	}
	return seen
}

// holds tells whether a thing is among those that a server stands on, or holds
// one of them as a dataset and a control group hold those below: what is set
// there is in force further down.
func holds(all map[stack.Ref]bool, of stack.Ref) bool {
	if all[of] {
		return true
	}
	if of.Kind != "dataset" && of.Kind != "cgroup" {
		return false
	}
	for r := range all {
		if r.Kind == of.Kind && under(path.Clean(r.Name), path.Clean(of.Name)) {
			return true
		}
	}
	return false
}
