package observe

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/stack"
)

// join ties together what different probes saw: filesystems with their block
// devices and datasets, loop devices with the filesystem of their file, pools
// with the devices or files they are made of, and everything with its disks.
func join(ctx context.Context, p *placer) {
	j := &joiner{placer: p, byDev: map[string]stack.Ref{}, found: map[stack.Ref]*chain{}}
	j.obs = stack.Observation{}
	for _, b := range p.s.OfKind("block") {
		if dev := b.Text("dev"); dev != "" {
			j.byDev[dev] = b.Ref
		}
	}
	for _, f := range p.s.OfKind("filesystem") {
		j.base(ctx, f)
	}
	for _, b := range p.s.OfKind("block") {
		j.loop(ctx, b)
	}
	for _, kind := range []string{"pool", "block", "filesystem"} {
		for _, t := range p.s.OfKind(kind) {
			j.linkDisks(ctx, t)
		}
	}
	for _, f := range p.s.OfKind("filesystem") {
		j.tellDisks(f)
	}
	j.tellUses()
	j.tellPools()
	p.s.Add("join", j.obs)
}

type joiner struct {
	*placer
	byDev map[string]stack.Ref // block devices by major:minor
	found map[stack.Ref]*chain
}

// unbacked are filesystems that no device of this host is behind.
var unbacked = []string{"tmpfs", "ramfs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs"}

// base links a filesystem to the block devices or the dataset it shows.
func (j *joiner) base(ctx context.Context, f *stack.Thing) {
	fstype := f.Text("fstype")
	if fstype == "zfs" || fstype == "fuse.zfs" {
		ds := stack.Ref{Kind: "dataset", Name: f.Text("source")}
		if j.s.Find(ds) != nil {
			f.Link("dataset", ds)
		} else {
			j.obs.Gap(f.Ref, "no probe saw the dataset "+ds.Name, "zfs list must work for this user, and answer", "dataset", "disks")
		}
		f.Link("block")
		return
	}
	f.Link("dataset")
	if _, known := f.Links["block"]; known {
		return
	}
	if several := strings.Split(f.Text("source"), ":"); fstype == "bcachefs" && len(several) > 1 {
		j.members(ctx, f, several)
		return
	}
	if ref, ok := j.byDev[f.Text("dev")]; ok {
		f.Link("block", ref)
		return
	}
	if slices.Contains(unbacked, fstype) || fstype == "overlay" {
		f.Link("block")
		return
	}
	j.obs.Gap(f.Ref, fmt.Sprintf("no block device seen has number %s (%s)", f.Text("dev"), f.Text("source")), "", "block", "disks")
}

// members links a bcachefs to all of its devices. Its number in the mount
// table is that of one of them, but the source names all: /dev/sda:/dev/sdb.
func (j *joiner) members(ctx context.Context, f *stack.Thing, devices []string) {
	var refs []stack.Ref
	for _, name := range devices {
		ref, err := j.device(ctx, name)
		if err != nil {
			j.obs.Gap(f.Ref, fmt.Sprintf("find the device %s of bcachefs: %v", name, err), HintFor(err), "block", "disks")
			return
		}
		refs = append(refs, ref)
	}
	f.Link("block", refs...)
}

// loop finds the filesystem that holds the file behind a loop device.
func (j *joiner) loop(ctx context.Context, b *stack.Thing) {
	if b.Text("layer") != "loop" {
		b.Link("backing")
		return
	}
	file := b.Text("loop_file")
	if file == "" {
		return // the probe said why
	}
	ref, err := j.holder(ctx, file)
	if err != nil {
		j.obs.Gap(b.Ref, fmt.Sprintf("find the filesystem of %s: %v", file, err), HintFor(err), "backing", "disks")
		return
	}
	b.Link("backing", ref)
}

// holder finds the filesystem of a path in our own view.
func (j *joiner) holder(ctx context.Context, name string) (stack.Ref, error) {
	v, ok := j.views[0]
	if !ok {
		v = &view{}
		v.mounts, v.why = MountTable(ctx, j.h, "self")
		j.views[0] = v
	}
	m, resolved, err := j.locate(ctx, v, name)
	if err != nil {
		return stack.Ref{}, err
	}
	ref := j.filesystem(ctx, v, m, resolved)
	if j.s.Find(ref) == nil { // made just now: a tmpfs, say
		j.s.Add("place", stack.Observation{Things: j.obs.Things})
		j.obs.Things = nil
		j.base(ctx, j.s.Find(ref))
	}
	return ref, nil
}

// device tells the block device a path names or, when it is a plain file, the
// filesystem that holds it.
func (j *joiner) device(ctx context.Context, name string) (stack.Ref, error) {
	sctx, cancel := context.WithTimeout(ctx, statTime)
	defer cancel()
	st, err := j.h.Stat(sctx, name)
	if err != nil {
		return stack.Ref{}, err
	}
	if st.Mode.IsRegular() {
		return j.holder(ctx, path.Clean(name))
	}
	dev := fmt.Sprintf("%d:%d", st.RdevMajor, st.RdevMinor)
	if ref, ok := j.byDev[dev]; ok {
		return ref, nil
	}
	return stack.Ref{}, fmt.Errorf("no block device seen has number %s", dev)
}
