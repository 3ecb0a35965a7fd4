package rollback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/btrfs"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
)

const onBtrfs = "btrfs"

// swaps tells whether what lies on a storage can be swapped.
func swaps(storage string) bool {
	return storage == "zfs" || storage == "zfs-fuse" || storage == onBtrfs
}

// topped is a storage whose volumes all lie below one top.
type topped interface {
	Top(ctx context.Context, h host.Reader, pool string) (string, error)
}

// subvolume finds the names that a subvolume gets, and how it is mounted. It refuses one that cannot be
// swapped.
func (c *checking) subvolume(ctx context.Context, v *Volume) error {
	s, err := c.r.Keeper.StorageOf(v.Volume)
	if err != nil {
		return err
	}
	t, ok := s.(topped)
	if !ok || v.Name == "/" {
		return hint.With(errors.New("it is the top of its filesystem, which cannot be renamed"), "keep the server's data in a subvolume; plumb clone starts a copy of the point beside it")
	}
	if v.top, err = t.Top(ctx, c.h, v.Pool); err != nil {
		return err
	}
	for dir := path.Dir(v.Name); ; dir = path.Dir(dir) {
		st, err := c.h.Stat(ctx, path.Join(v.top, dir))
		if err != nil {
			return err
		}
		if st.UID != 0 || st.Mode.Perm()&0o022 != 0 {
			return hint.With(fmt.Errorf("users other than root can write to %s, and could put another subvolume in its place", path.Join(v.top, dir)), "give the directory to root")
		}
		if dir == "/" {
			break
		}
	}
	out, err := c.h.Output(ctx, btrfs.List(v.top)...)
	if err != nil {
		return err
	}
	all, err := btrfs.Parse(out)
	at := slices.IndexFunc(all, func(s btrfs.Subvolume) bool { return "/"+s.Path == v.Name })
	if err != nil || at < 0 || all[at].UUID == "" {
		return errors.Join(err, errors.New("it is not in the list of subvolumes"))
	}
	if err := alone(v.Name, all); err != nil {
		return err
	}
	tag := v.tag[:strings.LastIndexByte(v.tag, '-')]
	v.root, v.guid = true, all[at].UUID
	v.next, v.Before, v.Undone = path.Join("/", path.Dir(v.Snapshot), "rollback-"+v.tag), v.Name+".before-"+tag, v.Name+".undone-"+tag
	return c.shownAt(ctx, v)
}

// alone refuses a subvolume with others below it: they are in no snapshot of it, and would be taken along when it is renamed.
func alone(name string, all []btrfs.Subvolume) error {
	for _, s := range all {
		if other := "/" + s.Path; other != name && paths.Within(other, name) {
			return hint.With(fmt.Errorf("the subvolume %s is below it, but not in its snapshot, and would be moved along", other), "move it to another place of the filesystem, and mount it where it is now")
		}
	}
	return nil
}

// shownAt finds how a subvolume is mounted: itself, or as part of another.
func (c *checking) shownAt(ctx context.Context, v *Volume) error {
	mounts, err := observe.MountTable(ctx, c.h, "self")
	if err != nil {
		return err
	}
	m, _ := observe.Holding(mounts, v.Mountpoint)
	if m.Type != onBtrfs || path.Join(m.Root, strings.TrimPrefix(v.Mountpoint, m.Point)) != v.Name {
		return hint.With(fmt.Errorf("it is not what is seen on %s here", v.Mountpoint), "run plumb where the server's mounts are, outside of a container")
	}
	if m.Point != v.Mountpoint {
		return nil
	}
	v.source, v.options = m.Source, "rw"
	for _, o := range []string{"noatime", "nodiratime", "relatime", "nosuid", "nodev", "noexec"} {
		if slices.Contains(m.Options, o) {
			v.options += "," + o
		}
	}
	text, err := c.h.ReadFile(ctx, "/etc/fstab")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0][0] == '#' || f[1] != edit.Octal(v.Mountpoint) {
			continue
		}
		if by := strings.Split(f[3], ","); !slices.ContainsFunc(by, func(o string) bool {
			return strings.Trim(strings.TrimPrefix(o, "subvol="), "/") == strings.Trim(v.Name, "/")
		}) {
			return hint.With(fmt.Errorf("/etc/fstab mounts it with %s, which would still be the old subvolume after the rollback", f[3]), "name it there by its path: subvol="+v.Name)
		}
	}
	return nil
}

// inside tells whether a volume is seen as part of another mount, and so needs none of its own.
func (v Volume) inside() bool { return v.top != "" && v.options == "" }

// shown is what the mount table shows of a volume that is in its place: of a dataset its source, of a subvolume its root.
func (v Volume) shown() string { return edit.Octal(v.Name) }

// listed reads a path from the line of a subvolume.
func (v Volume) listed(line string) change.Inspection {
	return change.Inspection{Argv: btrfs.List(v.top), Match: line}
}

// copied makes a copy of the snapshot that can be written to. It needs nothing of the snapshot later.
func (c *checking) copied(v Volume) change.Switch {
	to := path.Join(v.top, v.next)
	s := change.Exactly("subvolume "+v.next, v.listed(`^ID .* path (`+regexp.QuoteMeta(v.next[1:])+`)$`), v.next[1:],
		btrfs.Clone(path.Join(v.top, v.origin().Snapshot), to), btrfs.Remove(to))
	s.Spare = change.Spare{Keep: v.named(v.next, v.Undone), KeepFrom: c.spareFrom()}
	return s
}

// named renames a subvolume, unless the other name is taken: the state that is read then tells so.
func (v Volume) named(from, to string) []change.Op {
	return change.Commands([]string{"mv", "-n", "-T", "--", path.Join(v.top, from), path.Join(v.top, to)}, []string{"btrfs", "filesystem", "sync", v.top})
}

// renamed gives the server's subvolume the name that it keeps.
func (v Volume) renamed() change.Switch {
	s := change.Exactly(placeOf(v), v.listed(`^ID .* uuid `+v.guid+` path (.*)$`), v.Before[1:], nil, nil)
	s.Do, s.Undo = v.named(v.Name, v.Before), v.named(v.Before, v.Name)
	return s
}

// inPlace gives the copy the name of the server's.
func (v Volume) inPlace() change.Switch {
	s := change.Exactly("name of "+v.next, v.listed(`^ID .* path (`+regexp.QuoteMeta(v.next[1:])+`)$`), change.None, nil, nil)
	s.Do, s.Undo = v.named(v.next, v.Name), v.named(v.Name, v.next)
	return s
}
