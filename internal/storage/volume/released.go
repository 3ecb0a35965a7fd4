package volume

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host/mounts"
)

// released waits until the kernel has let go of the filesystem, which was unmounted. A process that was given mounts of its own, as a
// container that starts, may have taken a copy of ours along. While it lives, nothing was unmounted: caches are not emptied, a
// transaction goes on (btrfs trims none of the extents that it freed, which stay pinned until it is committed), and what is mounted next
// is the same filesystem.
func (l *loop) released(ctx context.Context) error {
	err := await.Until(ctx, patience, func() (bool, error) {
		in, err := l.do.Glob(ctx, l.inKernel())
		return err == nil && len(in) == 0, err
	})
	if err == nil {
		return nil
	}
	who, unseen := mounts.Holders(context.WithoutCancel(ctx), l.do, func(m *mountinfo.Info) bool { return m.Source == l.device.path })
	switch {
	case unseen != nil:
		who = []string{"who has it mounted cannot be seen: " + unseen.Error()}
	case len(who) == 0:
		who = []string{err.Error()}
	}
	return hint.With(fmt.Errorf("it is still in use elsewhere: %s", strings.Join(who, "; ")), "a container or service that started meanwhile has taken a copy of the mount along; end it, or start it at another time")
}

// inKernel is what the kernel has in /sys of a filesystem while it is mounted anywhere: of ext4 and XFS (since Linux 3.17) a directory
// with the device's name, of btrfs a link to the device.
func (l *loop) inKernel() string {
	if l.v.Filesystem == "btrfs" {
		return "/sys/fs/btrfs/*/devices/" + l.device.name()
	}
	return "/sys/fs/" + l.v.Filesystem + "/" + l.device.name()
}
