package volume

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/inventory"
)

// Clone implements lab.Volume.
//
// auto copies on ext4 and XFS. XFS could share the blocks, but then the first
// overwrite of each would be a copy on write, which a production XFS has not.
// btrfs writes elsewhere anyway, so there it shares them, unless the mount
// says nodatacow.
func (l *loop) Clone(ctx context.Context) (dir, how string, err error) {
	if err := errors.Join(l.mounted(ctx), l.ready(ctx)); err != nil {
		return "", "", err
	}
	if err := l.run(ctx, "sync", "-f", "--", l.dir); err != nil {
		return "", "", err
	}
	base, err := used(ctx, l.do, l.dir)
	if err != nil {
		return "", "", err
	}
	if how, err = l.cloneBy(ctx); err == nil {
		err = l.cool(ctx)
	}
	if err != nil {
		return "", "", firstOf(fmt.Errorf("clone %s: %w", l.golden(), err), l.Drop(context.WithoutCancel(ctx)))
	}
	l.base, l.cloned = base, how
	if how != byCopy {
		l.base = l.empty // its blocks are the golden ones
	}
	return l.clone(), how, nil
}

func (l *loop) cloneBy(ctx context.Context) (how string, err error) {
	switch how = l.v.Clone; {
	case how == bySnapshot:
		return how, l.run(ctx, "btrfs", "subvolume", "snapshot", l.golden(), l.clone())
	case how == byReflink || how == byCopy:
		return how, l.copyTree(ctx, how)
	case l.v.Filesystem == "btrfs" && !strings.Contains(l.v.Mount, "nodata"):
		err := l.copyTree(ctx, byReflink)
		if err == nil || ctx.Err() != nil {
			return byReflink, err
		}
		// A server may have made files that share nothing (chattr +C).
		if err := l.removeClone(ctx); err != nil {
			return byCopy, err
		}
	}
	return byCopy, l.copyTree(ctx, byCopy)
}

// mounted is an error when the volume is not: what is done below its
// directory would be done to the filesystem of the host.
func (l *loop) mounted(ctx context.Context) error {
	f, _, err := mountFacts(ctx, l.do, l.dir)
	if err == nil && f.Device != l.device.name() {
		err = fmt.Errorf("the volume is not mounted on %s", l.dir)
	}
	return err
}

// removeClone removes the clone as far as it is there.
func (l *loop) removeClone(ctx context.Context) error {
	if l.v.Clone != bySnapshot || inventory.Missing(ctx, l.do, l.clone()) {
		return removeTree(ctx, l.do, l.clone())
	}
	if err := l.run(ctx, "btrfs", "subvolume", "delete", "--commit-after", l.clone()); err != nil {
		return err
	}
	return l.run(ctx, "btrfs", "subvolume", "sync", l.dir) // until its blocks are free
}

// Drop implements lab.Volume. It trims the volume, too.
func (l *loop) Drop(ctx context.Context) error {
	err := l.mounted(ctx)
	if err == nil {
		err = l.removeClone(ctx)
	}
	if err != nil {
		return fmt.Errorf("drop the clone: %w", err)
	}
	// Only what is known to be free is trimmed. XFS frees blocks of removed
	// files in its own time, unless it is unmounted.
	if err := l.cool(ctx); err != nil {
		return fmt.Errorf("drop the clone: %w", err)
	}
	l.trims = "yes"
	if err := l.run(ctx, "fstrim", "--", l.dir); err != nil {
		l.trims = "no: " + err.Error() // a filesystem below without holes: the blocks stay
	}
	return nil
}
