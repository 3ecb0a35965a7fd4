package point

import (
	"context"
	"fmt"
	"path"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/storage/block"
	"plumb/internal/zfs"
)

var _, _, _, _ protect.Sharer = ZFS{}, Btrfs{}, Reflink{}, LVM{}

// Free implements protect.Sharer. A copy lies beside its origin, where a quota may leave less than the pool does.
func (z ZFS) Free(ctx context.Context, h host.Reader, m protect.Member) (float64, error) {
	least := 1.0
	for _, name := range []string{zfs.PoolOf(m.Name), path.Dir(m.Name)} {
		if name == "." { // of the pool's own dataset
			continue
		}
		out, err := h.Output(ctx, zfs.Values(name)...)
		if err != nil {
			return 0, err
		}
		values := zfs.ParseValues(out)
		free, err := strconv.ParseFloat(values["available"], 64)
		used, err2 := strconv.ParseFloat(values["used"], 64)
		if err != nil || err2 != nil || free+used <= 0 {
			return 0, fmt.Errorf("zfs gives %q as what is available in %s, and %q as what is used", values["available"], name, values["used"])
		}
		least = min(least, free/(free+used))
	}
	return least, nil
}

// Free implements protect.Sharer.
func (Btrfs) Free(ctx context.Context, h host.Reader, m protect.Member) (float64, error) {
	t, err := btrfsTop(ctx, h, m.Pool)
	if err != nil {
		return 0, err
	}
	return freeAt(ctx, h, t.dir)
}

// Free implements protect.Sharer.
func (Reflink) Free(ctx context.Context, h host.Reader, m protect.Member) (float64, error) {
	t, err := xfsTop(ctx, h, m.Pool)
	if err != nil {
		return 0, err
	}
	return freeAt(ctx, h, t.Point)
}

func freeAt(ctx context.Context, h host.Reader, dir string) (float64, error) {
	space, err := h.Statfs(ctx, dir)
	if err == nil && space.TotalBytes == 0 {
		err = fmt.Errorf("the size of the filesystem at %s is not known", dir)
	}
	if err != nil {
		return 0, err
	}
	return float64(space.AvailBytes) / float64(space.TotalBytes), nil
}

// Free implements protect.Sharer. A thin pool that runs full of metadata takes no writes of any of its volumes.
func (LVM) Free(ctx context.Context, h host.Reader, m protect.Member) (float64, error) {
	all, err := block.ThinPools(ctx, h)
	if err != nil {
		return 0, err
	}
	for _, name := range thinNames(m.Pool) {
		if p, ok := all[name]; ok && p.DataAll > 0 && p.MetadataAll > 0 {
			return 1 - max(float64(p.Data)/float64(p.DataAll), float64(p.Metadata)/float64(p.MetadataAll)), nil
		}
	}
	return 0, fmt.Errorf("dmsetup tells nothing of the thin pool %s", m.Pool)
}
