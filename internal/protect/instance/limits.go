package instance

import (
	"context"
	"errors"
	"runtime"
	"strconv"

	"plumb/internal/host/group"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/units"
)

// Limits are those with which the copy's server was started, and those that could not be set.
func (c *Copy) Limits() []protect.Limit { return c.limits }

// limited notes a limit, or with an error that there is none.
func (c *Copy) limited(what string, err error) {
	l := protect.Limit{What: what}
	if err != nil {
		l.Not = err.Error()
	}
	c.limits = append(c.limits, l)
}

// half is how many processors a copy that gives way may use.
func half() (processors float64, what string) {
	all := runtime.NumCPU()
	processors = float64(all) / 2
	return processors, strconv.FormatFloat(processors, 'f', -1, 64) + " of " + units.Count(all, "processor")
}

// grouped makes the control group that limits what the copy's server takes; none where the machine lends none.
func (c *Copy) grouped(ctx context.Context) ([]string, error) {
	c.limits = nil
	memory := units.Bytes(c.memory) + " of memory"
	processors, share := half()
	tree, err := group.Find(ctx, c.maker.Keeper.Do)
	if errors.Is(err, group.ErrNone) {
		if c.limited(memory, err); c.gentle {
			c.limited(share, err)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g := tree.Group("plumb-" + c.Name)
	for _, dir := range g.Dirs() {
		if err := c.directory(ctx, dir); err != nil {
			return nil, err
		}
	}
	c.group = &g
	if err := g.LimitMemory(ctx, c.maker.Keeper.Do, c.memory); err != nil {
		return nil, err
	}
	if c.limited(memory, nil); c.gentle {
		c.limited(share, g.LimitCPU(ctx, c.maker.Keeper.Do, processors))
	}
	return g.Dirs(), nil
}

// directory makes one of a control group, unless an earlier start did.
func (c *Copy) directory(ctx context.Context, dir string) error {
	do := c.maker.Keeper.Do
	if st, err := do.Stat(ctx, dir); err == nil && st.Mode.IsDir() {
		return nil
	}
	return c.thing(ctx, inventory.Thing{Kind: inventory.Group, Name: dir}, func(*inventory.Thing) error {
		_, err := do.Run(ctx, "mkdir", "--", dir)
		return err
	})
}
