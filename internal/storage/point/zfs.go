package point

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// ZFS makes points of datasets. OpenZFS and zfs-fuse are two storages: a host has one of them,
// and they differ in what they can do in one step.
//
// Beyond root it needs on OpenZFS, with zfs allow on the datasets: snapshot, userprop and
// for the removal destroy, rename, create and mount. Clones are mounted, which only root may.
type ZFS struct{ Fuse bool }

var _ protect.Storage = ZFS{}

// Name implements protect.Storage.
func (z ZFS) Name() string {
	if z.Fuse {
		return "zfs-fuse"
	}
	return "zfs"
}

func (z ZFS) tools() zfs.Tools { return zfs.Tools{Fuse: z.Fuse} }

// Volume implements protect.Storage.
func (z ZFS) Volume(_ *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	fstype, source := "zfs", fs.Text("source")
	if z.Fuse {
		fstype = "fuse.zfs"
	}
	if fs.Text("fstype") != fstype || strings.Contains(source, "@") { // a mounted snapshot is none
		return protect.Volume{}, false
	}
	v := protect.Volume{Storage: z.Name(), Name: source, Pool: zfs.PoolOf(source), Mountpoint: fs.Text("mountpoint")}
	if root := fs.Text("mount_root"); root != "/" {
		v.Within = root
	}
	return v, true
}

// Place implements protect.Placer: a name that no other command of ours takes is refused with the reason.
func (ZFS) Place(_ context.Context, _ host.Reader, v protect.Volume, _ string) (protect.Volume, error) {
	if !zfs.IsDataset(v.Name) {
		return v, hint.With(fmt.Errorf("the name of the dataset %q has a blank, so no snapshots of it are taken", v.Name), "zfs rename gives it a name without")
	}
	return v, nil
}

// Atomic implements protect.Storage. Of zfs-fuse, whose command takes one name, the
// datasets of a pool are taken with all below the one that holds them.
func (z ZFS) Atomic(vols []protect.Volume) string {
	for _, v := range vols {
		if v.Pool != vols[0].Pool {
			return fmt.Sprintf("%s and %s are in two pools, whose snapshots are of two moments", vols[0].Name, v.Name)
		}
	}
	return ""
}

// Room implements protect.Storage. A snapshot_limit is not looked at: it does not hold
// for root, and for others zfs snapshot says so before anything is made.
func (z ZFS) Room(s *stack.Stack, vols []protect.Volume) error {
	for _, v := range vols {
		pool := s.Find(stack.Ref{Kind: "pool", Name: v.Pool})
		if pool == nil {
			return fmt.Errorf("it is not known how full the pool %s is", v.Pool)
		}
		free, known := pool.Number("free")
		size, known2 := pool.Number("size")
		switch {
		case !known || !known2 || size <= 0:
			return fmt.Errorf("it is not known how full the pool %s is", v.Pool)
		case free < leastFree*size:
			return tight("the pool %s has only %s of %s free, and what snapshots keep comes on top: a tenth must be free",
				v.Pool, units.Bytes(int64(free)), units.Bytes(int64(size)))
		}
		if ds := s.Find(stack.Ref{Kind: "dataset", Name: v.Name}); ds != nil && ds.Text("keystatus") == "unavailable" {
			return hint.With(fmt.Errorf("the key of the encrypted dataset %s is not loaded, so a copy of it could not be mounted", v.Name), "zfs load-key "+v.Name)
		}
	}
	return nil
}

// Settle implements protect.Storage.
func (z ZFS) Settle(ctx context.Context, d host.Streamer, vols []protect.Volume) error {
	done := map[string]bool{}
	for _, v := range vols {
		argv := zfs.SyncPool(v.Pool)
		if z.Fuse {
			argv = []string{"sync", "-f", v.Mountpoint}
		}
		if last := argv[len(argv)-1]; !done[last] {
			if _, err := d.Run(ctx, argv...); err != nil {
				return fmt.Errorf("write out what waits for %s: %w", v.Name, err)
			}
			done[last] = true
		}
	}
	return nil
}

// Foreign implements protect.Lister.
func (z ZFS) Foreign(ctx context.Context, h host.Reader, v protect.Volume) (all []protect.Foreign, err error) {
	out, err := h.Output(ctx, zfs.SnapshotsOf(v.Name)...)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of %s: %w", v.Name, err)
	}
	for names := range slices.Chunk(zfs.Names(out), atOnce) {
		proofs, err := z.proofs(ctx, h.Output, names...)
		if err != nil {
			return nil, fmt.Errorf("look at the snapshots of %s: %w", v.Name, err)
		}
		for _, name := range names {
			p, there := proofs[name]
			_, own := strings.CutPrefix(name, v.Name+"@"+protect.SnapshotName(""))
			if there && p.User == "" && !own {
				all = append(all, protect.Foreign{Member: protect.Member{Volume: v, Snapshot: name, GUID: p.GUID, Birth: p.Birth}, At: time.Unix(p.Made, 0).UTC()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b protect.Foreign) int { return a.At.Compare(b.At) })
	return all, nil
}
