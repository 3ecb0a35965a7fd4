package kinds

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/observe"
	"plumb/internal/zfs"
)

// poolTime is how long taking a pool away may take: commands about one whose
// files are gone wait for ever.
const poolTime = 2 * time.Minute

// pool destroys a pool that lies on files of ours and nothing else.
func (h holder) pool(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if !zfs.IsPool(name) {
		return foreign("it is not a pool name")
	}
	ctx, cancel := context.WithTimeout(ctx, poolTime)
	defer cancel()
	there, err := h.poolThere(ctx, name)
	if errors.Is(err, host.ErrNoCommand) || err != nil && h.vdevsGone(ctx, e) {
		return nil
	}
	if err != nil && h.fuseEnded() {
		return h.unmountDead(ctx, name)
	}
	if err != nil || !there {
		return err
	}
	if err := h.ownPool(ctx, e); err != nil {
		return err
	}
	return await.Until(ctx, 3*patience, func() (bool, error) {
		if _, err := h.Do.Run(ctx, zfs.DestroyPool(name)...); err == nil {
			return true, nil
		}
		there, err := h.poolThere(ctx, name)
		if err != nil || !there {
			return true, err
		}
		// zfs-fuse calls a pool busy for a while after its last user has gone.
		return false, errors.Join(errors.New("it is busy"), h.unmountPool(ctx, name))
	})
}

func (h holder) poolThere(ctx context.Context, name string) (bool, error) {
	out, err := h.Do.Run(ctx, zfs.Pools()...)
	if err != nil {
		return false, fmt.Errorf("it is not known whether it is there: %w", err)
	}
	return slices.Contains(zfs.Names(out), name), nil
}

// vdevsGone tells whether all files of a pool have been removed: without ZFS
// running, there is no such pool any more.
func (h holder) vdevsGone(ctx context.Context, e inventory.Entry) bool {
	named := namedVdevs(e)
	return len(named) > 0 && !slices.ContainsFunc(named, func(v string) bool { return !inventory.Missing(ctx, h.Do, v) })
}

// fuseEnded tells whether the pools of this book were those of a zfs-fuse of
// ours, which has ended. A pool that no cache file names ends with it.
func (h holder) fuseEnded() bool {
	found := false
	for _, e := range h.Entries {
		program, _, _ := strings.Cut(e.Thing.Proof["argv"], " ")
		if e.Thing.Kind != inventory.Process || path.Base(program) != "zfs-fuse" {
			continue
		}
		if !e.Gone {
			return false
		}
		found = true
	}
	return found
}

// unmountDead unmounts what a zfs-fuse that was killed left mounted.
func (h holder) unmountDead(ctx context.Context, name string) error {
	all, err := observe.MountTable(ctx, h.Do, "self")
	if err != nil {
		return err
	}
	var bad []error
	for _, m := range slices.Backward(all) {
		if m.Type == "fuse.zfs" && zfs.Within(m.Source, name) {
			_, err := h.Do.Run(ctx, "umount", "-l", m.Point)
			bad = append(bad, err)
		}
	}
	return errors.Join(bad...)
}

// namedVdevs gives what a pool was to be made on.
func namedVdevs(e inventory.Entry) []string {
	return strings.FieldsFunc(e.Thing.Proof["vdevs"], func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
}

// ownPool checks where a pool lies. zfs-fuse knows no -P and always shows
// files by their paths.
func (h holder) ownPool(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if err := h.sameGUID(ctx, e.Thing); err != nil {
		return err
	}
	if e.Thing.Proof[guidProof] != "" && e.Thing.Proof["vdevs"] == "" {
		return nil // adopted: it is the one that was named, whatever it lies on
	}
	out, err := h.Do.Run(ctx, zfs.Tools{}.Status(name)...)
	if err != nil {
		out, err = h.Do.Run(ctx, zfs.Tools{Fuse: true}.Status(name)...)
	}
	if err != nil {
		return err
	}
	all := zfs.ParseStatus(out)
	if len(all) != 1 || all[0].Pool != name {
		return foreign("it is not known on what it lies")
	}
	on, err := all[0].Devices()
	if err != nil {
		return foreign("%w", err)
	}
	for _, v := range on {
		if !h.ownVdev(ctx, e, v) {
			return foreign("it lies on %s", v)
		}
	}
	return nil
}

func (h holder) ownVdev(ctx context.Context, e inventory.Entry, vdev string) bool {
	if len(h.trees(ctx)) > 0 && strings.HasPrefix(vdev, "/") && !strings.HasPrefix(vdev, "/dev/") {
		return h.belowTree(ctx, vdev)
	}
	for _, l := range h.Entries {
		if l.Thing.Kind != inventory.Loop || l.Gone {
			continue
		}
		if ours, err := h.ownLoops(ctx, l); err == nil && slices.Contains(ours, path.Base(vdev)) {
			return true
		}
	}
	return len(h.trees(ctx)) == 0 && strings.HasPrefix(vdev, "/") && slices.Contains(namedVdevs(e), vdev)
}

// unmountPool lets go of what is mounted of a pool, the deepest first.
func (h holder) unmountPool(ctx context.Context, name string) error {
	out, err := h.Do.Run(ctx, zfs.Below(name)...)
	if err != nil {
		return err
	}
	var all []error
	for _, dataset := range slices.Backward(zfs.Names(out)) {
		points, err := mountsOf(ctx, h.Do, dataset)
		all = append(all, err)
		for _, p := range slices.Backward(points) {
			_, err := h.Do.Run(ctx, "umount", "-l", p)
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
