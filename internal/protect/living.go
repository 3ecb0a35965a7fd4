package protect

import (
	"context"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Drop removes the things that the inventory has for an owner, the newest first. It leaves those for which stays is true; stays may
// be nil.
func (k *Keeper) Drop(ctx context.Context, owner string, stays func(inventory.Thing) bool) error {
	return kinds.Books(k.Do, k.Books).RemoveOwned(ctx, owner, stays)
}

// ReadyOwner is the owner, in the inventory, of the copy whose snapshots are Point.Ready.
func (p Point) ReadyOwner() string { return "ready " + p.ID }

// Readied writes down the snapshots of the point's recovered copy.
func (k *Keeper) Readied(ctx context.Context, id string, ready []Member) error {
	return k.Change(ctx, id, func(p *Point) { p.Ready = ready })
}

// readyEnd ends the name of the snapshots of a recovered copy.
const readyEnd = "-ready"

// ReadyName is the name of the snapshots of a recovered copy.
func ReadyName(id string) string { return SnapshotName(id) + readyEnd }

// Forgo destroys the copies that the inventory has for an owner, and their snapshots: those in of, and those that a killed run had no
// time to write down. The owner's name must end with the ID of a point.
func (k *Keeper) Forgo(ctx context.Context, owner string, of []Member) error {
	return k.forgo(ctx, owner, of, func(inventory.Thing) bool { return false })
}

// forgo is Forgo, but leaves the copies for which stays is true.
func (k *Keeper) forgo(ctx context.Context, owner string, of []Member, stays func(inventory.Thing) bool) error {
	books, err := kinds.Books(k.Do, k.Books).List(ctx)
	if err != nil {
		return err
	}
	for _, book := range books {
		for _, e := range book.Living {
			if e.Thing.Life.Owner != owner || stays(e.Thing) {
				continue
			}
			found, err := k.readyOf(ctx, e.Thing, owner[strings.LastIndexByte(owner, ' ')+1:])
			if err != nil {
				return err
			}
			of = append(slices.Clip(of), found...)
		}
	}
	if err := k.destroyMembers(ctx, of); err != nil {
		return err
	}
	return k.Drop(ctx, owner, stays)
}

// readyOf finds the snapshots of a recovered copy.
func (k *Keeper) readyOf(ctx context.Context, t inventory.Thing, id string) ([]Member, error) {
	s, v := k.copyOf(t)
	if s == nil {
		return nil, nil
	}
	return s.Find(ctx, k.Do, []Volume{v}, ReadyName(id))
}

// copyOf returns the storage and volume of a thing that is a copy; a nil Storage when it is not.
func (k *Keeper) copyOf(t inventory.Thing) (Storage, Volume) {
	for _, s := range k.Storages {
		if c, ok := s.(Copier); ok {
			if v, is := c.CopyOf(t); is {
				return s, v
			}
		}
	}
	return nil, Volume{}
}

// unready destroys the ready snapshots of a point, and the copy they were taken of. Parts of that copy that lie where snapshots of the
// point are left are left as well.
func (k *Keeper) unready(ctx context.Context, p Point) error {
	leaves := p.Leaves()
	err := k.forgo(ctx, p.ReadyOwner(), p.Ready, func(t inventory.Thing) bool {
		return slices.ContainsFunc(leaves, func(m Member) bool {
			s, unknown := k.StorageOf(m.Volume)
			on, ok := s.(Holder)
			return unknown == nil && ok && on.Holds(m.Volume, t)
		})
	})
	if len(leaves) == 0 {
		return err
	}
	if err != nil {
		return hint.With(err, "plumb inventory forget takes off the list what can no longer be removed")
	}
	return kinds.Books(k.Do, k.Books).ForgetOwned(ctx, p.ReadyOwner())
}
