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

// tellCloud records on a filesystem the kind of cloud volume when all its
// disks are of one kind.
func (j *joiner) tellCloud(f *stack.Thing) {
	refs, known := f.Links["disks"]
	if !known {
		j.gap(f.Ref, errNoDisks, "cloud_volume", "solid_state")
		return
	}
	kind := ""
	for i, ref := range refs {
		d := j.s.Find(ref)
		if d == nil {
			return
		}
		fact, known := d.Facts["cloud_volume"]
		if !known && d.Text("layer") == "disk" {
			return
		}
		this, _ := fact.Value.Text()
		if i > 0 && this != kind {
			kind = ""
			break
		}
		kind = this
	}
	if kind == "" {
		f.SetAbsent("cloud_volume", "models of its disks")
		return
	}
	f.Set("cloud_volume", stack.Text(kind), "models of its disks")
}

// tellMedium records whether a filesystem lies on flash alone: true when all
// its disks are known to be, false as soon as one is known to turn.
func (j *joiner) tellMedium(f *stack.Thing) {
	refs, known := f.Links["disks"]
	if !known {
		return // tellCloud has said so
	}
	solid, all := true, len(refs) > 0
	for _, ref := range refs {
		d := j.s.Find(ref)
		if d == nil {
			all = false
			continue
		}
		this, known := d.Bool("solid_state")
		all, solid = all && known, solid && (this || !known)
	}
	switch {
	case len(refs) == 0:
		f.SetAbsent("solid_state", "its disks")
	case all || !solid:
		f.Set("solid_state", stack.Bool(solid), "its disks")
	default:
		j.gap(f.Ref, errNoMedium, "solid_state")
	}
}
