package rollback

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/units"
)

// tick is by how much the kernel's clock of files may be behind.
const tick = 20 * time.Millisecond

// others refuses datasets on which files that are not the server's changed since the point, unless that is wanted: what changed goes
// back with the server. They are listed in any case. What was removed since cannot be seen.
func (c *checking) others(ctx context.Context) error {
	if why := c.setBack(ctx); why != "" && !c.o.Others {
		return hint.With(fmt.Errorf("it is not known which files of others changed on its datasets since the point, because the clock was set back: %s", why), "--others rolls back all the same")
	} else if why != "" {
		c.note("the clock was set back since (" + why + "): more files than these may have changed, and would be reverted too")
	}
	for _, v := range c.plan.Volumes {
		out, err := c.r.Keeper.Do.Run(ctx, changedByOthers(v.Member, c.plan.Server, c.plan.Point.Times)...)
		if err != nil && c.o.Others {
			c.note("whether files of others changed on " + v.Name + " cannot be seen: they would be reverted too")
			continue
		}
		if err != nil {
			return hint.With(fmt.Errorf("find which files of others changed on %s since the point: %w", v.Name, err), "--others rolls back all the same")
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if name != "" && !c.open[name] {
				c.plan.Others = append(c.plan.Others, name)
			}
		}
	}
	slices.Sort(c.plan.Others)
	if n := len(c.plan.Others); n > 0 && !c.o.Others {
		return hint.With(fmt.Errorf("%s of others changed on its datasets since the point, and would be reverted too: %s", units.Count(n, "file"), units.Some(c.plan.Others, 3)),
			"--others reverts them too, and what is there now stays in the old datasets; or move them elsewhere first")
	}
	return nil
}

// setBack says how the point's time does not tell what changed since.
func (c *checking) setBack(ctx context.Context) string {
	k := c.r.Keeper
	all, _ := k.Store.List(ctx, k.Do) // what speaks against the clock counts, whatever cannot be read
	return keep.Ahead(k.Now(), c.plan.Point, all)
}

// changedByOthers lists what changed on a volume since a point and is not the server's: it lies in none of its directories, or
// belongs to another user. By when its inode changed, which no user can set. What is mounted in the volume does not go back with it.
func changedByOthers(m protect.Member, sv protect.Server, times protect.Times) []string {
	since := times.Snapshot
	if since.IsZero() {
		since = times.Began
	}
	since = since.Add(-tick)
	argv := []string{"find", m.Mountpoint, "-xdev", "-ignore_readdir_race", "-path", path.Join(host.Verbatim(m.Mountpoint), ".zfs"), "-prune", "-o",
		"!", "-type", "d", "!", "-type", "s", "!", "-type", "p", "-newerct", fmt.Sprintf("@%d.%09d", since.Unix(), since.Nanosecond())}
	var own []string
	for _, d := range sv.Dirs {
		if dir := path.Clean(d.Path); paths.Within(dir, m.Mountpoint) || paths.Within(m.Mountpoint, dir) {
			name := host.Verbatim(dir)
			if len(own) > 0 {
				own = append(own, "-o")
			}
			own = append(own, "-path", name, "-o", "-path", strings.TrimSuffix(name, "/")+"/*")
		}
	}
	if own != nil {
		argv = append(argv, "(", "!", "-uid", strconv.Itoa(sv.UID), "-o", "!", "(")
		argv = append(append(argv, own...), ")", ")")
	}
	return append(argv, "-printf", `%p\0`)
}
