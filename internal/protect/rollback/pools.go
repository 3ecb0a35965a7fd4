package rollback

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// pools refuses what would fail only after the server was stopped: mount points below an alternate root, and reservations for which
// there is no room.
func (c *checking) pools(ctx context.Context) error {
	seen := map[string]bool{}
	for _, v := range c.plan.Volumes {
		if v.top != "" {
			continue
		}
		if !seen[v.Pool] {
			if err := c.altroot(ctx, v.Pool); err != nil {
				return err
			}
		}
		seen[v.Pool] = true
		if v.root {
			if err := c.reserved(ctx, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// altroot refuses a pool that was imported with -R: ZFS shows its mount points with that directory before them, and takes them without.
func (c *checking) altroot(ctx context.Context, pool string) error {
	out, err := c.h.Output(ctx, c.tools.PoolProperties(pool)...)
	if err != nil {
		return fmt.Errorf("look how the pool %s was imported: %w", pool, err)
	}
	for _, p := range c.tools.ParsePool(out) {
		if p.Name == "altroot" && p.Value != "-" && p.Value != "" {
			return hint.With(fmt.Errorf("the pool %s is imported under the directory %s (altroot), where no mount point can be set as it is shown", pool, p.Value),
				"zpool import it without -R; plumb clone starts a copy of the point, beside the server")
		}
	}
	return nil
}

// reserves tells how much space a property of a dataset reserves, which its clone reserves once more.
func reserves(p zfs.Property) int64 {
	if p.Name != "reservation" && p.Name != "refreservation" {
		return 0
	}
	n, _ := strconv.ParseInt(p.Value, 10, 64)
	return n
}

// reserved refuses a dataset where there is no room to reserve for its clone, and for those of what lies below it, what is reserved for them.
func (c *checking) reserved(ctx context.Context, root Volume) error {
	var need int64
	for _, v := range c.plan.Volumes {
		if zfs.Within(v.Name, root.Name) {
			need += v.reserve
		}
	}
	if need == 0 {
		return nil
	}
	out, err := c.h.Output(ctx, zfs.Value("available", path.Dir(root.Name))...)
	if err != nil {
		return fmt.Errorf("look what is free for the reservation of %s: %w", root.Name, err)
	}
	free, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return fmt.Errorf("zfs gives %q as what is available in %s", strings.TrimSpace(string(out)), path.Dir(root.Name))
	}
	if free < need {
		return hint.With(fmt.Errorf("%s are reserved for %s, and would be reserved again for what replaces it, but only %s are free", units.Bytes(need), root.Name, units.Bytes(free)),
			"zfs set reservation=none refreservation=none "+root.Name+" (and below it), and set them again afterwards; or plumb prune makes room")
	}
	c.note(units.Bytes(need) + " stay reserved for the old dataset as well, " + root.Before)
	return nil
}
