package rollback

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// ownPrefix begins properties of ours. Those are not copied.
const ownPrefix = "org.plumb:"

// datasets finds the names that the datasets get, and refuses those that cannot be swapped.
func (c *checking) datasets(ctx context.Context) error {
	tag := protect.NewID(c.r.Keeper.Now())
	members := slices.Clone(c.plan.Point.Members)
	slices.SortFunc(members, func(a, b protect.Member) int { return strings.Compare(a.Name, b.Name) })
	for i, m := range members {
		v := Volume{Member: m, tag: tag + "-" + strconv.Itoa(i)}
		if m.Storage == onBtrfs {
			if err := c.subvolume(ctx, &v); err != nil {
				return fmt.Errorf("look at %s: %w", m.Name, err)
			}
			c.plan.Volumes = append(c.plan.Volumes, v)
			continue
		}
		if up := slices.IndexFunc(c.plan.Volumes, func(o Volume) bool { return o.root && zfs.Within(m.Name, o.Name) }); up >= 0 {
			rest := strings.TrimPrefix(m.Name, c.plan.Volumes[up].Name)
			v.next, v.Before = c.plan.Volumes[up].next+rest, c.plan.Volumes[up].Before+rest
			v.Undone = c.plan.Volumes[up].Name + strings.ReplaceAll(rest, "/", ".") + ".undone-" + tag
		} else {
			v.root = true
			v.next, v.Before, v.Undone = path.Dir(m.Name)+"/plumb-rollback-"+v.tag, m.Name+".before-"+tag, m.Name+".undone-"+tag
			if err := c.swappable(ctx, m.Name); err != nil {
				return err
			}
		}
		if err := c.properties(ctx, &v); err != nil {
			return fmt.Errorf("look at %s: %w", m.Name, err)
		}
		if !c.tools.Fuse {
			c.left(ctx, m.Name)
		}
		c.plan.Volumes = append(c.plan.Volumes, v)
	}
	return nil
}

// swappable refuses a dataset that cannot be renamed, or has others below it, which would go
// with it.
func (c *checking) swappable(ctx context.Context, name string) error {
	if !strings.Contains(name, "/") {
		return hint.With(fmt.Errorf("%s is a pool's own dataset, which cannot be renamed", name), "plumb clone starts a copy of the point beside it")
	}
	out, err := c.h.Output(ctx, zfs.Columns("name", name)...)
	if err != nil {
		return err
	}
	for _, other := range zfs.Names(out) {
		if !slices.ContainsFunc(c.plan.Point.Members, func(m protect.Member) bool { return m.Name == other }) {
			return hint.With(fmt.Errorf("%s is below %s, but not in the point, and would be moved along", other, name), "zfs rename it to another place")
		}
	}
	return nil
}

// fixed lists properties that are not given to a clone: it has them of its origin, or they
// are set when it takes its place.
var fixed = []string{"mountpoint", "canmount", "encryption", "keylocation", "keyformat", "pbkdf2iters", "volsize", "version",
	"casesensitivity", "normalization", "utf8only", "objsetid"}

// properties finds which properties of a dataset its clone must be given: what is set on it,
// or was received with it.
func (c *checking) properties(ctx context.Context, v *Volume) error {
	out, err := c.h.Output(ctx, zfs.Properties(v.Name)...)
	if err != nil {
		return err
	}
	all := zfs.ParseProperties(out)
	if strings.Count(string(out), "\n") != len(all) {
		return errors.New("one of its properties cannot be read: it may contain a line break")
	}
	seen := map[string]bool{}
	for _, p := range all {
		if seen[p.Name] || p.Of != v.Name { // a line that somebody put into a property of his own
			return hint.With(fmt.Errorf("its property %s appears twice: another property contains a line break", p.Name), "zfs get -s local all "+v.Name+" shows which; zfs inherit removes it")
		}
		seen[p.Name] = true
		set := p.Source == "local" || p.Source == "received"
		switch {
		case p.Name == "guid":
			v.guid = p.Value
		case p.Name == "mountpoint":
			v.inherits = !set
			if p.Value != v.Mountpoint {
				err = hint.With(fmt.Errorf("its mountpoint is %s, but it is mounted on %s", p.Value, v.Mountpoint), "Plumb can only replace what ZFS itself mounts")
			}
		case p.Name == "canmount":
			if v.said = p.Source == "local"; p.Value == "on" {
				continue
			}
			err = hint.With(errors.New("its canmount is "+p.Value+": who mounts it is not known"), "Plumb can only replace what ZFS itself mounts")
		case p.Name == "encryptionroot" && p.Value == v.Name:
			err = hint.With(errors.New("it has an encryption key of its own, and a rollback of such a dataset has never been tested"), "plumb clone starts a copy of the point, beside the server")
		case p.Source == "temporary": // zfs mount -o nosuid
			c.note(p.Name + "=" + p.Value + " of " + v.Name + " is set for its mount alone, and what takes its place is mounted without it: set it with zfs set")
		case !set || slices.Contains(fixed, p.Name) || strings.HasPrefix(p.Name, ownPrefix) || none(p):
		default:
			v.own, v.reserve = append(v.own, p.Name+"="+p.Value), max(v.reserve, reserves(p))
		}
	}
	if v.guid == "" { // zfs-fuse does not list it
		out, err := c.h.Output(ctx, zfs.Value("guid", v.Name)...)
		if err != nil {
			return err
		}
		v.guid = strings.TrimSpace(string(out))
	}
	return err
}

// left notes what a clone does not have of its dataset, and OpenZFS lets nobody move.
func (c *checking) left(ctx context.Context, name string) {
	out, err := c.h.Output(ctx, zfs.Granted(name)...)
	switch {
	case err != nil:
		c.note("whether zfs allow gives rights on " + name + " cannot be seen: they would not be kept")
	case zfs.OwnRights(out, name):
		c.note("rights that zfs allow gives on " + name + " itself stay with the old dataset: set them again")
	}
	out, err = c.h.Output(ctx, zfs.BookmarksOf(name)...)
	switch n := len(zfs.Names(out)); {
	case err != nil:
		c.note("whether " + name + " has bookmarks cannot be seen: they would not be kept")
	case n > 0:
		c.note(units.Count(n, "bookmark") + " of " + name + " will stay with the old dataset: incremental sends from there start over")
	}
}

// none tells whether a limit is set to none, which is shown as 0 and is so of any clone.
func none(p zfs.Property) bool {
	limit := strings.HasSuffix(p.Name, "quota") || strings.HasSuffix(p.Name, "reservation") || strings.HasSuffix(p.Name, "_limit")
	return limit && (p.Value == "0" || p.Value == "none" || p.Value == "18446744073709551615")
}

// mounts refuses when others are mounted in what will be unmounted.
func (c *checking) mounts(ctx context.Context) error {
	all, err := observe.MountTable(ctx, c.h, "self")
	if err != nil {
		return err
	}
	for _, v := range c.plan.Volumes {
		if v.inside() {
			continue
		}
		last := slices.IndexFunc(all, func(m observe.Mount) bool { return m.Point == v.Mountpoint })
		if last < 0 || v.top == "" && all[last].Source != v.Name || slices.ContainsFunc(all[last+1:], func(m observe.Mount) bool { return m.Point == v.Mountpoint }) {
			return hint.With(fmt.Errorf("%s is not what is mounted on %s here, or not the only thing", v.Name, v.Mountpoint), "run plumb where the server's mounts are, outside of a container")
		}
	}
	for _, m := range all {
		for _, v := range c.plan.Volumes {
			ours := slices.ContainsFunc(c.plan.Volumes, func(o Volume) bool { return o.Mountpoint == m.Point })
			if !ours && paths.Within(m.Point, v.Mountpoint) {
				return hint.With(fmt.Errorf("%s is mounted in %s, but is not in the point", m.Point, v.Mountpoint), "unmount it")
			}
		}
	}
	return nil
}
