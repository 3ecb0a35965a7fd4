package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Sweep finishes what killed runs left behind. A point that was being taken is kept as a crash point if all of its snapshots are
// there, and is destroyed otherwise. Lent points whose process has ended are destroyed, and destructions that were begun are finished.
func (k *Keeper) Sweep(ctx context.Context) error {
	unlock, err := k.Store.Lock(ctx, k.Do)
	if err != nil {
		return err
	}
	defer unlock()
	return errors.Join(k.sweepLent(ctx), k.sweep(ctx, Taking, k.finish), k.sweep(ctx, Destroying, k.goOn))
}

// sweep calls do for each point in a state. A point that fails, or whose file cannot be read, does not keep it from the others.
func (k *Keeper) sweep(ctx context.Context, state State, do func(context.Context, Point) error) error {
	all, err := k.Store.List(ctx, k.Do)
	failed := []error{err}
	for _, p := range all {
		if p.State == state {
			failed = append(failed, do(ctx, p))
		}
	}
	return errors.Join(failed...)
}

// finish keeps or destroys a point whose run was killed while it took it. If the run held a lock, nobody knows any more whether the
// snapshots came before or after it was released: the point is kept as a crash point at most.
func (k *Keeper) finish(ctx context.Context, p Point) error {
	found, err := k.find(ctx, p)
	if err != nil {
		return err
	}
	usable := p.Mode != ModeBackupAPI && p.Mode != ModeFreeze && complete(p.volumes(), found) == nil && sameBirth(found)
	if !usable {
		return k.takeBack(ctx, p)
	}
	p.Members, p.State, p.Label, p.Times.Ended = found, Taken, Crash, k.Now().UTC()
	p.Doubts = append(p.Doubts, "the run that took it was killed")
	return k.Store.Put(ctx, k.Do, p)
}

// find looks for the snapshots of a point that was written down before they were made.
func (k *Keeper) find(ctx context.Context, p Point) (all []Member, err error) {
	for _, s := range k.Storages {
		vols := of(s, p.volumes())
		if len(vols) == 0 {
			continue
		}
		found, err := s.Find(ctx, k.Do, vols, SnapshotName(p.ID))
		if err != nil {
			return nil, fmt.Errorf("look for the snapshots of point %s: %w", p.ID, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// volumes are the volumes a point has, or was to have, snapshots of.
func (p Point) volumes() (all []Volume) {
	for _, m := range p.Members {
		all = append(all, m.Volume)
	}
	return all
}

// takeBack destroys what there is of a point that failed: the snapshots that are found, and those that made says were taken.
func (k *Keeper) takeBack(ctx context.Context, p Point, made ...Member) error {
	found, err := k.find(ctx, p)
	if err != nil {
		return err
	}
	for _, m := range made {
		if !slices.ContainsFunc(found, m.Same) {
			found = append(found, m)
		}
	}
	if err := k.destroyMembers(ctx, found); err != nil {
		return err
	}
	return k.Store.Remove(ctx, k.Do, p.ID)
}
