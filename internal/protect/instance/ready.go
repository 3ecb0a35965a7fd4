package instance

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"plumb/internal/inventory"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Keep snapshots a copy of a point whose server was stopped, has them noted, and takes away all of it but what the
// snapshots need. A copy of those starts without redo.
func (c *Copy) Keep(ctx context.Context, id string, note func([]protect.Member) error) (ready []protect.Member, err error) {
	mounts, err := observe.MountTable(ctx, c.maker.Keeper.Do, "self")
	if err != nil {
		return nil, err
	}
	for _, of := range c.members {
		one, err := c.keep(ctx, of, mounts, id)
		if err != nil {
			return nil, fmt.Errorf("snapshot the copy of %s: %w", of.Snapshot, err)
		}
		ready = append(ready, one)
	}
	if err := note(ready); err != nil {
		return nil, err
	}
	// Until it is noted, nobody takes a copy away whose book is open.
	if err := c.book.Close(ctx); err != nil {
		return ready, err
	}
	return ready, c.maker.bare(ctx, c.life.Owner)
}

// Ready gives the snapshots of a point's recovered copy, nil where there is none any more: somebody can have destroyed it, and the
// point is as good as before.
func (m Maker) Ready(ctx context.Context, p protect.Point) []protect.Member {
	if len(p.Ready) == 0 || m.There(ctx, p.Ready) != nil {
		return nil
	}
	return p.Ready
}

// bare takes away all of a copy but what its snapshots need.
func (m Maker) bare(ctx context.Context, owner string) error {
	return m.Keeper.Drop(ctx, owner, func(t inventory.Thing) bool {
		return t.Kind != inventory.Process && t.Kind != inventory.Group && t.Kind != inventory.Mount && path.Dir(t.Name) != m.Dir
	})
}

// keep snapshots one volume of the copy. The server stands still, so that several need
// not be of one moment.
func (c *Copy) keep(ctx context.Context, of protect.Member, mounts []observe.Mount, id string) (one protect.Member, err error) {
	s, err := c.maker.Keeper.StorageOf(of.Volume)
	if err != nil {
		return one, err
	}
	at := c.In(path.Clean(of.Mountpoint))
	for _, m := range slices.Backward(mounts) { // what is seen is the uppermost
		v, ok := s.Volume(&stack.Stack{}, m.Thing(m.Point))
		if m.Point != at || !ok {
			continue
		}
		if p, ok := s.(protect.Placer); ok {
			if v, err = p.Place(ctx, c.maker.Keeper.Do, v, at); err != nil {
				return one, err
			}
		}
		all, err := s.Snapshot(ctx, c.maker.Keeper.Do, []protect.Volume{v}, protect.ReadyName(id), map[string]string{protect.FactPoint: id})
		if err != nil || len(all) != 1 {
			return one, errors.Join(err, fmt.Errorf("the number of snapshots made is %d", len(all)))
		}
		one = all[0]
		one.Mountpoint = of.Mountpoint
		return one, nil
	}
	return one, fmt.Errorf("it is not mounted on %s", at)
}
