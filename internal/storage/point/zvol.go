package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// Zvol takes points of filesystems that lie right on volumes of OpenZFS. The filesystem is not
// frozen: a frozen one that nobody thaws stops the host. Its snapshot is what a power cut leaves, and the
// journal is replayed when a copy is mounted. What the kernel holds is written out just before, under the lock.
type Zvol struct{ ZFS }

// Name implements protect.Storage.
func (Zvol) Name() string { return "zvol" }

// Volume implements protect.Storage.
func (z Zvol) Volume(s *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	return onDevice(s, fs, z.Name(), "zvol", "/dev/zd", "/dev/zvol/")
}

// Place implements protect.Placer: the device of a volume has a number alone.
func (z Zvol) Place(ctx context.Context, h host.Reader, v protect.Volume, _ string) (protect.Volume, error) {
	if err := wholeDevice(v); err != nil {
		return v, err
	}
	out, err := h.Output(ctx, zfs.Volumes()...)
	if err != nil {
		return v, err
	}
	device := kernelName(ctx, h, v.Name)
	names := zfs.Names(out)
	i := slices.IndexFunc(names, func(name string) bool { return kernelName(ctx, h, zvolDevice(name)) == device })
	if i < 0 {
		return v, fmt.Errorf("on %s, to which no link of a whole volume in /dev/zvol leads", v.Name)
	}
	v.Name, v.Pool = names[i], zfs.PoolOf(names[i])
	return z.ZFS.Place(ctx, h, v, "")
}

// zvolDevice is the link that udev makes to the device of a volume. It has a + for each blank of the name, in which no + can be.
func zvolDevice(name string) string { return "/dev/zvol/" + strings.ReplaceAll(name, " ", "+") }

// Settle implements protect.Storage.
func (z Zvol) Settle(ctx context.Context, d host.Streamer, vols []protect.Volume) error {
	if err := syncAll(ctx, d, vols); err != nil {
		return err
	}
	return z.ZFS.Settle(ctx, d, vols)
}

// Snapshot implements protect.Storage.
func (z Zvol) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, facts map[string]string) ([]protect.Member, error) {
	if err := syncAll(ctx, d, vols); err != nil {
		return nil, err
	}
	return z.ZFS.Snapshot(ctx, d, vols, name, facts)
}

// deviceTime is how long the device of a volume may take to come about.
const deviceTime = 30 * time.Second

// Clone implements protect.Storage.
func (z Zvol) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	set, err := z.cloneBeside(ctx, d, m, at, "volmode=dev", "snapdev=hidden")
	if err == nil {
		var device string
		if device, err = zvolReady(ctx, d, set.Name); err == nil {
			err = mountDevice(ctx, d, device, at)
		}
		if err != nil {
			err = errors.Join(err, at.Book.Remove(context.WithoutCancel(ctx), set))
		}
	}
	if err != nil {
		err = fmt.Errorf("clone %s on %s: %w", m.Snapshot, at.Dir, err)
	}
	return err
}

// zvolReady waits for the device of a new volume, and gives it by the name under which the kernel lists
// what is mounted of it.
func zvolReady(ctx context.Context, h host.Reader, name string) (device string, err error) {
	err = await.Until(ctx, deviceTime, func() (bool, error) {
		st, err := h.Stat(ctx, zvolDevice(name))
		if err == nil && !strings.HasPrefix(st.Resolved, "/dev/zd") {
			err = fmt.Errorf("%s leads to %q", zvolDevice(name), st.Resolved)
		}
		device = st.Resolved
		return err == nil, err
	})
	return device, err
}
