package protect

import (
	"context"
	"slices"
	"strings"

	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Drop takes away what was made to live for an owner, the newest thing first, but for
// what stays, if that is given.
func (k *Keeper) Drop(ctx context.Context, owner string, stays func(inventory.Thing) bool) error {
	return inventory.RemoveOwned(ctx, k.Do, kinds.All(), k.Books, owner, stays)
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
	books, err := inventory.List(ctx, k.Do, k.Books)
	if err != nil {
		return err
	}
	for _, book := range books {
		for _, e := range book.Living {
			if e.Thing.Life.Owner != owner {
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
	return k.Drop(ctx, owner, nil)
}

// readyOf finds the snapshots of a copy.
func (k *Keeper) readyOf(ctx context.Context, t inventory.Thing, id string) (all []Member, err error) {
	for _, s := range k.Storages {
		if c, ok := s.(Copier); ok {
			if v, is := c.CopyOf(t); is {
				return s.Find(ctx, k.Do, []Volume{v}, ReadyName(id))
			}
		}
	}
	return nil, nil
}

// unready destroys the ready snapshots of a point, and the copies they are of.
func (k *Keeper) unready(ctx context.Context, p Point) error {
	return k.Forgo(ctx, p.ReadyOwner(), p.Ready)
}
