package observe

import (
	"errors"
	"slices"

	"plumb/internal/stack"
)

var (
	errNoCache   = errors.New("a disk below it does not say whether its cache is volatile")
	errNoVirtual = errors.New("a disk below it does not say whether a hypervisor provides it")
	errNoMedium  = errors.New("a disk below it does not say what it is made of")
)

// TellDisks tells a filesystem of a stack that is planned what its disks are, as join does for one that was seen. all says that its link
// to them has all of them: else one that nobody saw could be another than they.
func TellDisks(s *stack.Stack, f *stack.Thing, all bool) {
	j := &joiner{placer: &placer{s: s}}
	if all {
		j.tellDisks(f)
	} else {
		j.noDisks(f)
	}
	s.Add("join", j.obs)
}

// noDisks leaves open what the disks of a filesystem are.
func (j *joiner) noDisks(f *stack.Thing) {
	j.gap(f.Ref, errNoDisks, "cloud_volume", "solid_state")
	j.gap(f.Ref, errNoDisks, "disk_names", "write_cache", "virtual_disks")
}

// tellDisks records on a filesystem what its disks are: their names, the kind
// of cloud volume if they are all of one, whether a flush reaches a volatile
// cache, whether a hypervisor provides one, whose word about that cache is all
// there is, and whether it lies on flash alone.
func (j *joiner) tellDisks(f *stack.Thing) {
	const from = "its disks"
	refs, known := f.Links["disks"]
	if !known {
		j.noDisks(f)
		return
	}
	j.tellCloud(f, refs)
	if len(refs) == 0 {
		f.Absent(from, "solid_state", "disk_names", "write_cache", "virtual_disks")
		return
	}
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.Name
	}
	slices.Sort(names)
	f.Set("disk_names", stack.List(names), from)
	j.tellOne(f, refs, "solid_state", errNoMedium, func(d *stack.Thing) (bool, bool) { solid, known := d.Bool("solid_state"); return !solid, known },
		func(turns bool) stack.Value { return stack.Bool(!turns) })
	j.tellOne(f, refs, "virtual_disks", errNoVirtual, func(d *stack.Thing) (bool, bool) { return d.Bool("virtual_disk") }, stack.Bool)
	j.tellOne(f, refs, "write_cache", errNoCache,
		func(d *stack.Thing) (bool, bool) { c := d.Text("write_cache"); return c == "write back", c != "" },
		func(volatile bool) stack.Value {
			return stack.Text(map[bool]string{true: "write back", false: "write through"}[volatile])
		})
}

// tellOne records what is true as soon as it is of one disk, and false when it
// is of none; a disk that does not tell leaves the second open.
func (j *joiner) tellOne(f *stack.Thing, refs []stack.Ref, fact string, why error, of func(*stack.Thing) (yes, known bool), value func(bool) stack.Value) {
	any, all := false, true
	for _, ref := range refs {
		d := j.s.Find(ref)
		if d == nil {
			all = false
			continue
		}
		yes, known := of(d)
		any, all = any || known && yes, all && known
	}
	if !any && !all {
		j.gap(f.Ref, why, fact)
		return
	}
	f.Set(fact, value(any), "its disks")
}

// tellCloud records the kind of cloud volume when all disks are of one kind.
func (j *joiner) tellCloud(f *stack.Thing, refs []stack.Ref) {
	const from = "models of its disks"
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
		f.SetAbsent("cloud_volume", from)
		return
	}
	f.Set("cloud_volume", stack.Text(kind), from)
}
