package protect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Forget destroys a point of which a part lies on storage that is gone for good. Snapshots whose storage does not answer are left
// where they are, and are on no list any more; the others are destroyed as by Destroy. It is an error if all storage answers. still is
// called with the point as Unanswered returns it now; its error says that this is no longer what somebody chose to forget.
func (k *Keeper) Forget(ctx context.Context, id string, still func(Point) error, why ...string) error {
	return k.locked(ctx, id, func(p Point) error {
		p, err := k.Unanswered(ctx, k.Do, p)
		if err == nil && still != nil {
			err = still(p)
		}
		if err == nil && p.State == Taking { // by a run that was killed: we have the lock
			err = k.came(ctx, &p)
		}
		if err != nil {
			return fmt.Errorf("forget point %s: %w", p.ID, err)
		}
		return k.announce(ctx, p, why...)
	})
}

// came replaces the members of a point whose run was killed with the snapshots that were really made, where storage answers.
func (k *Keeper) came(ctx context.Context, p *Point) error {
	leaves := p.Leaves()
	p.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m Member) bool { return m.Left != "" })
	found, err := k.find(ctx, *p)
	p.Members = append(found, leaves...)
	return err
}

// Unanswered asks storage about each snapshot of a point. Where there is no answer it sets Member.Left to the reason: the pool is
// missing, the disk is dead, the command hangs. Nobody can tell from here whether that is for good. It is an error if all storage
// answers, and if the reason is only who asks, or how the storage is mounted. Unanswered only reads.
func (k *Keeper) Unanswered(ctx context.Context, h host.Reader, p Point) (Point, error) {
	p.Members, p.Ready = slices.Clone(p.Members), slices.Clone(p.Ready)
	for _, all := range [][]Member{p.Members, p.Ready} {
		for i := range all {
			var err error
			if all[i].Left, err = k.unanswered(ctx, h, p.ID, all[i]); err != nil {
				return p, err
			}
		}
	}
	if len(p.Leaves()) == 0 {
		return p, hint.With(fmt.Errorf("all of the storage of point %s answers", p.ID), "plumb prune "+p.ID+", without --forget, destroys its snapshots with it")
	}
	return p, nil
}

// unanswered says why storage does not answer about a snapshot; "" when it does.
func (k *Keeper) unanswered(ctx context.Context, h host.Reader, id string, m Member) (why string, err error) {
	if s, known := k.StorageOf(m.Volume); m.Snapshot == "" && known == nil { // written down, but perhaps never made
		_, err = s.Find(ctx, h, []Volume{m.Volume}, SnapshotName(id))
	} else {
		_, err = k.removable(ctx, h, m)
	}
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case unasked(err):
		return "", hint.With(fmt.Errorf("%w: that says nothing about the storage", err), "run as root")
	case errors.Is(err, ErrThere):
		return "", err
	}
	return err.Error(), nil
}

// unasked tells whether an error is about the one who asks, and says nothing about the storage.
func unasked(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrPermission, host.ErrDenied, host.ErrRefused, host.ErrTooLarge}, func(of error) bool { return errors.Is(err, of) })
}

// Leaves returns the snapshots that are left where they are when the point is forgotten.
func (p Point) Leaves() []Member {
	return slices.DeleteFunc(slices.Concat(p.Members, p.Ready), func(m Member) bool { return m.Left == "" })
}
