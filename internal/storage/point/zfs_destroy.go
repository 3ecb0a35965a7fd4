package point

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// asideMark ends the name under which a snapshot is destroyed where that takes several steps:
// under a name that nobody else uses, nothing can take its place between look and removal.
const asideMark = ".plumb-goes"

// Destroy implements protect.Storage: on OpenZFS, by root, all or none in one step; else all
// are looked at, and then one after the other is given a name of its own, looked at again and destroyed.
func (z ZFS) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	members = slices.CompactFunc(slices.SortedFunc(slices.Values(members), func(a, b protect.Member) int { return strings.Compare(a.Snapshot, b.Snapshot) }),
		func(a, b protect.Member) bool { return a.Snapshot == b.Snapshot && a.GUID == b.GUID })
	for _, m := range members {
		if dataset, name, ok := strings.Cut(m.Snapshot, "@"); !ok || !zfs.IsDataset(dataset) || name == "" || strings.ContainsAny(name, "@%,") || m.GUID == "" || m.Birth == "" {
			return fmt.Errorf("destroy the snapshot %q with GUID %q: that tells no snapshot from others", m.Snapshot, m.GUID)
		}
	}
	for len(members) > 0 {
		pool := zfs.PoolOf(members[0].Snapshot)
		n := slices.IndexFunc(members, func(m protect.Member) bool { return zfs.PoolOf(m.Snapshot) != pool })
		if n < 0 {
			n = len(members)
		}
		if err := z.destroyIn(ctx, d, pool, members[:n]); err != nil {
			return err
		}
		members = members[n:]
	}
	return nil
}

func (z ZFS) destroyIn(ctx context.Context, d host.Streamer, pool string, members []protect.Member) error {
	if !z.Fuse {
		done, err := program(ctx, d, pool, members)
		if done || err != nil {
			return err
		}
	}
	if err := z.removable(ctx, d, members); err != nil {
		return err
	}
	for _, m := range members {
		if err := z.destroyOne(ctx, d, m); err != nil {
			return hint.With(fmt.Errorf("destroy the snapshot %s: %w", m.Snapshot, err), "a user other than root needs: zfs allow -u USER destroy,rename,create,mount DATASET")
		}
	}
	return nil
}

// program destroys by a channel program; done is false where there are none for us.
func program(ctx context.Context, d host.Streamer, pool string, members []protect.Member) (done bool, err error) {
	var all []zfs.Doomed
	for _, m := range members {
		all = append(all, zfs.Doomed{Name: m.Snapshot, GUID: m.GUID, Birth: m.Birth}, zfs.Doomed{Name: m.Snapshot + asideMark, GUID: m.GUID, Birth: m.Birth})
	}
	argv, text, err := zfs.DestroyProven(pool, all...)
	if err != nil {
		return false, err
	}
	var out strings.Builder
	if _, err = d.Pipe(ctx, host.Pipe{Argv: argv, In: strings.NewReader(text), Out: &out}); err != nil {
		for _, refused := range []string{"must be run as root", "Permission denied", "permission denied", "unrecognized command"} {
			if strings.Contains(err.Error(), refused) {
				return false, nil
			}
		}
		return false, fmt.Errorf("destroy the snapshots of pool %s: %w", pool, err)
	}
	wrong, err := zfs.ParseDestroyed([]byte(out.String()))
	if err == nil && len(wrong) > 0 {
		err = standing(wrong)
	}
	return true, err
}

// standing says what keeps snapshots from being destroyed.
func standing(wrong map[string]string) error {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		all = append(all, name+": "+wrong[name])
	}
	return hint.With(errors.New("no snapshot was destroyed: "+strings.Join(all, "; ")),
		"zfs get guid,userrefs,clones SNAPSHOT tells more; one that was looked into by way of .zfs is in use for five minutes more")
}

// removable is an error that names all snapshots that cannot be destroyed.
func (z ZFS) removable(ctx context.Context, d host.Doer, members []protect.Member) error {
	wrong := map[string]string{}
	for _, m := range members {
		s, err := z.State(ctx, d, m)
		if err != nil {
			return err
		}
		if why := why(s); why != "" && !s.Gone {
			wrong[m.Snapshot] = why
		}
	}
	if len(wrong) > 0 {
		return standing(wrong)
	}
	return nil
}

// why says why a snapshot in this state is not destroyed.
func why(s protect.MemberState) string {
	switch {
	case s.Gone:
		return "it is gone"
	case s.Other:
		return "it is another snapshot of that name"
	case s.Held:
		return "it is held"
	case len(s.Clones) > 0:
		return "it is the origin of " + strings.Join(s.Clones, ", ")
	}
	return ""
}

// destroyOne gives a snapshot a name of its own, looks whether it is the right one, and
// destroys it. Any other gets its name back.
func (z ZFS) destroyOne(ctx context.Context, d host.Streamer, m protect.Member) error {
	aside := m.Snapshot + asideMark
	if s, err := z.state(ctx, d.Run, m, aside); err != nil || !s.Gone && s.Other {
		return errors.Join(err, fmt.Errorf("look at %s: it is there, and not of this point", aside))
	} else if s.Gone {
		if _, err := d.Run(ctx, zfs.Rename(m.Snapshot, aside)...); err != nil {
			if zfs.Missing(err) {
				return nil // gone since
			}
			return err
		}
	}
	s, err := z.state(ctx, d.Run, m, aside)
	if err != nil {
		return err
	}
	if why := why(s); why != "" {
		_, err := d.Run(context.WithoutCancel(ctx), zfs.Rename(aside, m.Snapshot)...)
		return errors.Join(errors.New(why), err)
	}
	if _, err = d.Run(ctx, zfs.Destroy(aside)...); err != nil && !zfs.Missing(err) { // who may rename may not be who may destroy
		_, back := d.Run(context.WithoutCancel(ctx), zfs.Rename(aside, m.Snapshot)...)
		return errors.Join(err, back)
	}
	return nil
}
