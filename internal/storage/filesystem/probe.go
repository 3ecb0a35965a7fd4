package filesystem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// mountLimit is the most filesystems that are reported. One that a server uses
// is reported in any case, by package observe.
const mountLimit = 2048

// spaceTime bounds the time all filesystems together may take to tell their
// space: hundreds of dead NFS mounts must not end the check.
const spaceTime = 6 * time.Second

// Probe reads the mounted filesystems.
type Probe struct{}

// Name implements observe.Probe.
func (Probe) Name() string { return "filesystem" }

// Cost implements observe.Probe.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Waits: true, Once: observe.Requests{Files: 2},
		Each: map[string]observe.Requests{"filesystem": {Files: 8, Commands: 1}}}
}

// Collect implements observe.Probe.
func (Probe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (stack.Observation, error) {
	var obs stack.Observation
	mounts, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		obs.Gap(stack.Ref{}, err.Error(), "")
	}
	mounts = interesting(mounts)
	if len(mounts) > mountLimit {
		obs.Gap(stack.Ref{}, fmt.Sprintf("%d mounted filesystems; only the first %d and those a server uses were read", len(mounts), mountLimit), "")
		mounts = mounts[:mountLimit]
	}
	fstab := readFstab(ctx, h, &obs)
	spaceCtx, cancel := context.WithTimeout(ctx, spaceTime)
	defer cancel()
	each := observe.EachOf("reading the filesystem", mounts, func(m observe.Mount) stack.Observation {
		v := volume{h: h, mount: m, thing: m.Thing(m.Point), fstab: fstab}
		v.collect(ctx, spaceCtx)
		return v.obs
	})
	obs.Things, obs.Gaps = each.Things, append(obs.Gaps, each.Gaps...)
	return obs, nil
}

// stored are types that keep data though no block device number shows.
var stored = []string{"zfs", "btrfs", "bcachefs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "lustre", "gpfs", "ocfs2", "gfs2", "beegfs"}

// images are read-only types that no database lies on; snapd mounts dozens.
var images = []string{"squashfs", "iso9660", "udf", "erofs", "cramfs"}

// interesting keeps the filesystems that hold data, and of several at one
// mount point the one that is visible.
func interesting(mounts []observe.Mount) []observe.Mount {
	last := map[string]int{}
	for i, m := range mounts {
		last[m.Point] = i
	}
	var keep []observe.Mount
	for i, m := range mounts {
		if last[m.Point] == i && holdsData(m) {
			keep = append(keep, m)
		}
	}
	return keep
}

func holdsData(m observe.Mount) bool {
	if slices.Contains(images, m.Type) {
		return false
	}
	// Programs show all sorts of things with FUSE; one with a subtype or a
	// block device keeps files.
	fuse := strings.HasPrefix(m.Type, "fuse.") && m.Type != "fuse.lxcfs" && m.Type != "fuse.portal" && m.Type != "fuse.gvfsd-fuse"
	return m.OnBlock() || fuse || slices.Contains(stored, m.Type)
}

// volume is one filesystem while it is read.
type volume struct {
	h     host.Reader
	mount observe.Mount
	thing *stack.Thing
	fstab []Entry
	obs   stack.Observation
}

func (v *volume) collect(ctx, spaceCtx context.Context) {
	v.obs.Things = []*stack.Thing{v.thing}
	if err := observe.Space(spaceCtx, v.h, v.thing, v.mount.Point); err != nil {
		v.gap(err, "size", "free", "used_percent", "inodes*", "block_size")
	}
	v.nextMount()
	v.remountable()
	switch v.mount.Type {
	case "ext2", "ext3", "ext4":
		v.ext4(ctx)
	case "xfs":
		v.xfs(ctx)
	case "btrfs":
		v.btrfs(ctx)
	}
}

// gap says why facts are not known, and what a person can do about it.
func (v *volume) gap(err error, facts ...string) {
	v.obs.Gap(v.thing.Ref, err.Error(), observe.HintFor(err), facts...)
}
