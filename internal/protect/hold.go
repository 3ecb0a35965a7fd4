package protect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
)

// Hold keeps a point from being pruned until its owner releases it.
func (k *Keeper) Hold(ctx context.Context, id, owner string) error {
	return k.locked(ctx, id, func(p Point) error {
		if err := p.Whole(); err != nil {
			return fmt.Errorf("hold point %s: %w", p.ID, err)
		}
		if p.heldBy(owner) {
			return nil
		}
		p.Holds = append(p.Holds, Hold{Owner: owner, Since: k.Now().UTC()})
		return k.Store.Put(ctx, k.Do, p)
	})
}

// Release ends an owner's hold. It is an error if the owner does not hold the point.
func (k *Keeper) Release(ctx context.Context, id, owner string) error {
	return k.locked(ctx, id, func(p Point) error {
		if !p.heldBy(owner) {
			return hint.With(fmt.Errorf("release point %s: it is not held by %s", p.ID, owner), p.holders())
		}
		p.Holds = slices.DeleteFunc(p.Holds, func(h Hold) bool { return h.Owner == owner })
		return k.Store.Put(ctx, k.Do, p)
	})
}

func (p Point) heldBy(owner string) bool {
	return slices.ContainsFunc(p.Holds, func(h Hold) bool { return h.Owner == owner })
}

// holders is the sentence that says who holds a point.
func (p Point) holders() string {
	var all []string
	for _, h := range p.Holds {
		all = append(all, h.Owner)
	}
	if all == nil {
		return "nobody holds it"
	}
	return "it is held by " + strings.Join(all, ", ")
}
