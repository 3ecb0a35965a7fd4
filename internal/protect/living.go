package protect

import (
	"context"
	"fmt"

	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Drop takes away what was made to live for an owner, the newest thing first, but for
// what stays, if that is given.
func (k *Keeper) Drop(ctx context.Context, owner string, stays func(inventory.Thing) bool) error {
	books, err := inventory.List(ctx, k.Do, k.Books)
	if err != nil {
		return err
	}
	for _, book := range books {
		for _, e := range book.Living {
			if e.Thing.Life == nil || e.Thing.Life.Owner != owner || stays != nil && stays(e.Thing) {
				continue
			}
			if err := inventory.RemoveOne(ctx, k.Do, kinds.All(), k.Books, e.Thing.Kind, e.Thing.Name); err != nil {
				return fmt.Errorf("remove %s %s: %w", e.Thing.Kind, e.Thing.Name, err)
			}
		}
	}
	return nil
}

// ReadyOwner is whom the inventory names for what the ready snapshots of a point are
// made of.
func (p Point) ReadyOwner() string { return "ready " + p.ID }

// Readied notes the snapshots of a recovered copy.
func (k *Keeper) Readied(ctx context.Context, id string, ready []Member) error {
	return k.Change(ctx, id, func(p *Point) { p.Ready = ready })
}

// Forgo destroys snapshots, and the copies they are of, which were made to live for an owner.
func (k *Keeper) Forgo(ctx context.Context, owner string, of []Member) error {
	if err := k.destroyMembers(ctx, of); err != nil {
		return err
	}
	return k.Drop(ctx, owner, nil)
}

// unready destroys the ready snapshots of a point, and the copies they are of.
func (k *Keeper) unready(ctx context.Context, p Point) error {
	return k.Forgo(ctx, p.ReadyOwner(), p.Ready)
}
