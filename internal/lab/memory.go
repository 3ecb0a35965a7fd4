package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/inventory"
	"plumb/internal/lab/experiment"
)

// control is the control group of a trial's server; the zero value is none.
type control struct {
	of   host.Reader
	made *group.Group
}

func (c control) dirs() []string {
	if c.made == nil {
		return nil
	}
	return c.made.Dirs()
}

func (c control) cpu(ctx context.Context) (time.Duration, bool) {
	if c.made == nil {
		return 0, false
	}
	return c.made.CPU(ctx, c.of)
}

func (c control) kills(ctx context.Context) (int64, bool) {
	if c.made == nil {
		return 0, false
	}
	return c.made.Kills(ctx, c.of)
}

// limitMemory gives the trial's server its memory. Of the sum that all arms
// have alike, the ARC gets its part: it is not charged to the group.
func (b *bench) limitMemory(ctx context.Context, r *experiment.Record) error {
	s := b.setup.Server
	if s == nil {
		return nil
	}
	if !b.lab.Box.Do.About().Root {
		if s.Memory > 0 {
			r.Remark("no-memory-limit", "without root the server's memory could not be limited to %s", s.Memory)
		}
		return nil
	}
	tree, err := group.Find(ctx, b.lab.Box.Do)
	if errors.Is(err, group.ErrNone) && s.Memory == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("limit the server's memory to %s: %w", s.Memory, err)
	}
	g := tree.Group("plumb-lab-" + b.lab.Box.Run + placeName(b.layout.place))
	for _, dir := range g.Dirs() {
		if err := b.makeGroup(ctx, dir); err != nil {
			return err
		}
	}
	b.control = control{b.lab.Box.Do, &g}
	most := int64(s.Memory - b.setup.Volume.ARC)
	if s.Memory == 0 {
		return nil
	}
	if most <= 0 {
		return fmt.Errorf("of %s of memory the ARC takes %s: nothing is left for the server", s.Memory, b.setup.Volume.ARC)
	}
	return g.LimitMemory(ctx, b.lab.Box.Do, most)
}

func (b *bench) makeGroup(ctx context.Context, dir string) error {
	box := b.lab.Box
	t, err := box.Log.Make(ctx, inventory.Thing{Kind: inventory.Group, Name: dir}, func(*inventory.Thing) error {
		_, err := box.Do.Run(ctx, "mkdir", dir)
		return err
	})
	if err == nil {
		b.later(func(ctx context.Context) error { return box.Log.Remove(ctx, t) })
	}
	return err
}
