package observe

import (
	"errors"
	"slices"

	"plumb/internal/stack"
)

var (
	errNoCache   = errors.New("a disk below it does not say whether its cache is volatile")
	errNoVirtual = errors.New("a disk below it does not say whether a hypervisor provides it")
)

// tellCache records what a flush of one filesystem reaches and what it is for:
// the disks under it by name, whether one of them has a volatile cache, and
// whether one is a hypervisor's, whose word about that cache is all there is.
func (j *joiner) tellCache(f *stack.Thing) {
	const from = "its disks"
	refs, known := f.Links["disks"]
	if !known {
		j.gap(f.Ref, errNoDisks, "disk_names", "write_cache", "virtual_disks")
		return
	}
	if len(refs) == 0 {
		f.Absent(from, "disk_names", "write_cache", "virtual_disks")
		return
	}
	names := []string{}
	volatile, caches, virtual, kinds := false, true, false, true
	for _, ref := range refs {
		names = append(names, ref.Name)
		d := j.s.Find(ref)
		if d == nil {
			caches, kinds = false, false
			continue
		}
		cache := d.Text("write_cache")
		volatile, caches = volatile || cache == "write back", caches && cache != ""
		this, tells := d.Bool("virtual_disk")
		virtual, kinds = virtual || this, kinds && tells
	}
	slices.Sort(names)
	f.Set("disk_names", stack.List(names), from)
	j.tellOne(f, "virtual_disks", stack.Bool(virtual), virtual || kinds, errNoVirtual)
	cache := "write through"
	if volatile {
		cache = "write back"
	}
	j.tellOne(f, "write_cache", stack.Text(cache), volatile || caches, errNoCache)
}

// tellOne sets a fact that was drawn from all disks, or says why it is not known.
func (j *joiner) tellOne(f *stack.Thing, fact string, v stack.Value, known bool, why error) {
	if !known {
		j.gap(f.Ref, why, fact)
		return
	}
	f.Set(fact, v, "its disks")
}
