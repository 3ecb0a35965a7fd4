package protect

import (
	"context"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Drop takes away what was made to live for an owner, the newest thing first, but for
// what stays, if that is given.
func (k *Keeper) Drop(ctx context.Context, owner string, stays func(inventory.Thing) bool) error {
	return kinds.Books(k.Do, k.Books).RemoveOwned(ctx, owner, stays)
}

// ReadyOwner is whom the inventory names for what the ready snapshots of a point are
// made of.
func (p Point) ReadyOwner() string { return "ready " + p.ID }

// Readied notes the snapshots of a recovered copy.
func (k *Keeper) Readied(ctx context.Context, id string, ready []Member) error {
	return k.Change(ctx, id, func(p *Point) { p.Ready = ready })
}

// readyEnd ends the name of the snapshots of a recovered copy.
const readyEnd = "-ready"

// ReadyName is the name of the snapshots of a recovered copy.
func ReadyName(id string) string { return SnapshotName(id) + readyEnd }

// Forgo destroys the copies that were made to live for an owner, whose name ends with an ID, and their snapshots:
// those that are known, and those that a killed run had no time to note.
func (k *Keeper) Forgo(ctx context.Context, owner string, of []Member) error {
	return k.forgo(ctx, owner, of, func(inventory.Thing) bool { return false })
}

// forgo does so, but for copies that stay.
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

// readyOf finds the snapshots of a copy.
func (k *Keeper) readyOf(ctx context.Context, t inventory.Thing, id string) ([]Member, error) {
	s, v := k.copyOf(t)
	if s == nil {
		return nil, nil
	}
	return s.Find(ctx, k.Do, []Volume{v}, ReadyName(id))
}

// copyOf tells on which storage a thing is a copy, and which volume it is; nil when it is none.
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

// unready destroys the ready snapshots of a point, and the copies they are of. Copies where a part of the point is left
// are left as well.
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
