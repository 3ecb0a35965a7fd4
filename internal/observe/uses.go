package observe

import (
	"maps"
	"slices"

	"plumb/internal/stack"
)

// downward are the links that lead from a filesystem to what it stands on.
var downward = []string{"block", "on", "backing", "dataset", "pool", "disks"}

// uses is what servers keep on one thing.
type uses struct{ roles, servers map[string]bool }

// tellUses records on every filesystem and block device which roles of which
// servers are known to stand on it, so that a rule about a disk or a
// filesystem can ask once instead of once for every server.
func (j *joiner) tellUses() {
	found := map[stack.Ref]uses{}
	for _, r := range j.s.Roles {
		if !r.Filesystem.IsZero() && r.Name != "pid" {
			j.mark(found, r.Filesystem, r, map[stack.Ref]bool{})
		}
	}
	for _, kind := range []string{"filesystem", "block"} {
		for _, t := range j.s.OfKind(kind) {
			u := found[t.Ref]
			t.Set("roles", stack.List(slices.Sorted(maps.Keys(u.roles))), "placement")
			t.Set("servers", stack.List(slices.Sorted(maps.Keys(u.servers))), "placement")
		}
	}
}

func (j *joiner) mark(found map[stack.Ref]uses, ref stack.Ref, r stack.Role, seen map[stack.Ref]bool) {
	t := j.s.Find(ref)
	if t == nil || seen[ref] {
		return
	}
	seen[ref] = true
	u, ok := found[ref]
	if !ok {
		u = uses{map[string]bool{}, map[string]bool{}}
		found[ref] = u
	}
	u.roles[r.Name], u.servers[r.DB.String()] = true, true
	for _, link := range downward {
		for _, to := range t.Links[link] {
			j.mark(found, to, r, seen)
		}
	}
}

// tellPools records on every block device which pools are known to be on it: a
// rule about the order of requests must leave those disks alone, because a pool
// orders and schedules its own.
func (j *joiner) tellPools() {
	found := map[stack.Ref]map[string]bool{}
	for _, p := range j.s.OfKind("pool") {
		for _, part := range poolParts {
			for _, disk := range p.Links[part.link] {
				if found[disk] == nil {
					found[disk] = map[string]bool{}
				}
				found[disk][p.Ref.Name] = true
			}
		}
	}
	for _, t := range j.s.OfKind("block") {
		t.Set("pools", stack.List(slices.Sorted(maps.Keys(found[t.Ref]))), "placement")
	}
}
