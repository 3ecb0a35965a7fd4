package protect

import (
	"context"
	"errors"
	"fmt"
)

// Sweep finishes what killed runs left: a point whose snapshots are all there is
// kept as a crash point, any other is taken away; a destruction goes on.
func (k *Keeper) Sweep(ctx context.Context) error {
	unlock, err := k.Store.Lock(ctx, k.Do)
	if err != nil {
		return err
	}
	defer unlock()
	return k.sweep(ctx)
}

func (k *Keeper) sweep(ctx context.Context) error {
	all, err := k.Store.List(ctx, k.Do)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range all {
		switch p.State {
		case Taking:
			failed = append(failed, k.finish(ctx, p))
		case Destroying:
			failed = append(failed, k.destroy(ctx, p))
		}
	}
	return errors.Join(failed...)
}

// finish decides on a point of a run that was killed. Under a lock the order of
// things is not known any more, so nothing but a moment is claimed.
func (k *Keeper) finish(ctx context.Context, p Point) error {
	found, err := k.find(ctx, p)
	if err != nil {
		return err
	}
	usable := p.Mode != ModeBackupAPI && p.Mode != ModeFreeze && len(found) == len(p.Members) && sameBirth(found)
	if !usable {
		return k.takeBack(ctx, p)
	}
	p.Members, p.State, p.Label, p.Times.Ended = found, Taken, Crash, k.Now().UTC()
	p.Doubts = append(p.Doubts, "the run that took it was killed")
	return k.Store.Put(ctx, k.Do, p)
}

// find looks for the snapshots of a point that was announced.
func (k *Keeper) find(ctx context.Context, p Point) (all []Member, err error) {
	for _, s := range k.Storages {
		var vols []Volume
		for _, m := range p.Members {
			if m.Storage == s.Name() {
				vols = append(vols, m.Volume)
			}
		}
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

// takeBack takes away what came about of a point that failed.
func (k *Keeper) takeBack(ctx context.Context, p Point) error {
	found, err := k.find(ctx, p)
	if err != nil {
		return err
	}
	p.Members = found
	if err := k.destroyMembers(ctx, found); err != nil {
		return err
	}
	return k.Store.Remove(ctx, k.Do, p.ID)
}

// Destroy destroys a point: its intent is written down first, so that a run which
// is killed is finished by the next.
func (k *Keeper) Destroy(ctx context.Context, id string) error {
	unlock, err := k.Store.Lock(ctx, k.Do)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := k.Store.Get(ctx, k.Do, id)
	if err != nil {
		return err
	}
	if len(p.Holds) > 0 {
		return fmt.Errorf("point %s is held by %s", p.ID, p.Holds[0].Owner)
	}
	p.State = Destroying
	if err := k.Store.Put(ctx, k.Do, p); err != nil {
		return err
	}
	return k.destroy(ctx, p)
}

func (k *Keeper) destroy(ctx context.Context, p Point) error {
	err := k.unready(ctx, p)
	if err == nil {
		err = k.destroyMembers(ctx, p.Members)
	}
	if err != nil {
		return fmt.Errorf("destroy point %s: %w", p.ID, err)
	}
	return k.Store.Remove(ctx, k.Do, p.ID)
}

// destroyMembers destroys snapshots, storage by storage. One that is gone is fine;
// another of the same name is left alone.
func (k *Keeper) destroyMembers(ctx context.Context, all []Member) error {
	for _, s := range k.Storages {
		var own []Member
		for _, m := range all {
			if m.Storage != s.Name() || m.Snapshot == "" {
				continue
			}
			state, err := s.State(ctx, k.Do, m)
			if err != nil {
				return err
			}
			if !state.Gone && !state.Other {
				own = append(own, m)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := s.Destroy(ctx, k.Do, own); err != nil {
			return err
		}
	}
	return nil
}
