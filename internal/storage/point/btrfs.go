package point

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"plumb/internal/btrfs"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Btrfs takes points of subvolumes. A volume is named by its path from the top of its
// filesystem, / for the top itself; the pool is the filesystem's UUID. Snapshots lie in a directory
// at the top that only root enters, each with a file of facts beside it.
type Btrfs struct{ synced }

// Name implements protect.Storage.
func (Btrfs) Name() string { return "btrfs" }

// Volume implements protect.Storage. The kernel tells which subvolume is mounted, and
// which directory of it.
func (b Btrfs) Volume(_ *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	if fs.Text("fstype") != "btrfs" {
		return protect.Volume{}, false
	}
	root, sub := fs.Text("mount_root"), "/"
	for _, o := range fs.List("options") {
		if name, ok := strings.CutPrefix(o, "subvol="); ok {
			sub = name
		}
	}
	within, ok := paths.Cut(root, sub)
	return protect.Volume{Storage: b.Name(), Name: sub, Pool: fs.Text("source"), Mountpoint: fs.Text("mountpoint"), Within: within}, ok
}

// Place implements protect.Placer: a subvolume need not be mounted to be one of its own.
func (b Btrfs) Place(ctx context.Context, h host.Reader, v protect.Volume, name string) (protect.Volume, error) {
	rest, ok := paths.Cut(name, v.Mountpoint)
	if !ok {
		return v, fmt.Errorf("%s is not on the mount at %s", name, v.Mountpoint)
	}
	source := v.Pool
	uuid, err := btrfsUUID(ctx, h, source)
	if err != nil {
		return v, fmt.Errorf("on btrfs (%s), whose UUID is not known: %w", source, err)
	}
	v.Pool = uuid
	t, err := btrfsTop(ctx, h, v.Pool)
	if err != nil {
		return v, err
	}
	of, err := t.holding(ctx, h, path.Join("/", v.Name, v.Within, rest))
	if err != nil {
		return v, err
	}
	at := path.Join("/", v.Name, v.Within)
	if deeper, ok := paths.Cut("/"+of.Path, at); ok && deeper != "" {
		v.Mountpoint, v.Within = path.Join(v.Mountpoint, deeper), ""
	}
	v.Name = "/" + of.Path
	return v, nil
}

// holding gives the subvolume that holds a path. Those that lie inside it would be
// missing from a snapshot.
func (t btrfsMount) holding(ctx context.Context, h host.Reader, name string) (btrfs.Subvolume, error) {
	var found btrfs.Subvolume
	all, err := t.list(ctx, h)
	if err != nil {
		return found, err
	}
	var inside []string
	for _, s := range all {
		if paths.Within(name, "/"+s.Path) && len(s.Path) >= len(found.Path) {
			found = s
		}
		if in, ok := paths.Cut("/"+s.Path, name); ok && in != "" && !strings.HasPrefix(s.Path, pointsDir+"/") {
			inside = append(inside, "/"+s.Path)
		}
	}
	if inside != nil {
		return found, fmt.Errorf("the subvolumes %s lie in it, and a snapshot would leave them out", strings.Join(inside, ", "))
	}
	return found, nil
}

// Atomic implements protect.Storage.
func (Btrfs) Atomic(vols []protect.Volume) string { return oneAfterOther(vols, "subvolumes", "btrfs") }

// Room implements protect.Storage.
func (Btrfs) Room(s *stack.Stack, vols []protect.Volume) error { return room(s, vols) }

// Snapshot implements protect.Storage.
func (b Btrfs) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, facts map[string]string) ([]protect.Member, error) {
	var failed error
	for _, v := range vols {
		if failed == nil {
			failed = b.snapshot(ctx, d, v, name)
		}
	}
	ctx = context.WithoutCancel(ctx)
	all, err := b.Find(ctx, d, vols, name)
	for _, m := range all {
		if failed == nil {
			failed = b.Mark(ctx, d, m, facts)
		}
	}
	return all, errors.Join(failed, err)
}

// snapshot takes one snapshot. Somebody who may rename directories above the volume could put
// a link to another in its place: so it is looked up in the filesystem's own list before and after.
func (b Btrfs) snapshot(ctx context.Context, d host.Doer, v protect.Volume, name string) error {
	t, err := btrfsTop(ctx, d, v.Pool)
	if err == nil {
		err = makePoints(ctx, d, t.dir)
	}
	if err != nil {
		return err
	}
	of, err := t.find(ctx, d, strings.TrimPrefix(v.Name, "/"))
	if err != nil {
		return err
	}
	to := snapshotPath(v.Name, name)
	if !inventory.Missing(ctx, d, path.Join(t.dir, to)) {
		return fmt.Errorf("%s: %w", path.Join(t.dir, to), fs.ErrExist)
	}
	if _, err := d.Run(ctx, btrfs.Snapshot(path.Join(t.dir, v.Name), path.Join(t.dir, to))...); err != nil {
		return err
	}
	s, err := t.find(ctx, d, to)
	if err == nil && s.Parent != of.UUID {
		err = fmt.Errorf("%s is not a snapshot of %s: somebody put another in its place", to, v.Name)
	}
	return err
}

// find finds a subvolume by its path.
func (t btrfsMount) find(ctx context.Context, h host.Reader, name string) (btrfs.Subvolume, error) {
	all, err := t.list(ctx, h)
	s, ok := pathOf(all, name)
	if err == nil && !ok {
		err = fmt.Errorf("btrfs at %s has no subvolume /%s", t.dir, name)
	}
	return s, err
}

// snapshotPath is the path from the top of a snapshot of what is at another path there. That is part of its name, without slashes.
func snapshotPath(of, name string) string {
	return pointsDir + "/" + name + "." + url.PathEscape(strings.Trim(of, "/"))
}

// Find implements protect.Storage. One whose parent is not the volume came about in part:
// a link had been put where the volume was.
func (b Btrfs) Find(ctx context.Context, h host.Reader, vols []protect.Volume, name string) ([]protect.Member, error) {
	var all []protect.Member
	for _, v := range vols {
		t, err := btrfsTop(ctx, h, v.Pool)
		if err != nil {
			return all, err
		}
		list, err := t.list(ctx, h)
		if err != nil {
			return all, err
		}
		if s, ok := pathOf(list, snapshotPath(v.Name, name)); ok {
			of, there := pathOf(list, strings.TrimPrefix(v.Name, "/"))
			all = append(all, protect.Member{Volume: v, Snapshot: s.Path, GUID: s.UUID, Birth: fmt.Sprint(s.Born), Part: there && of.UUID != s.Parent})
		}
	}
	return all, nil
}

// State implements protect.Storage.
func (b Btrfs) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	_, _, st, err := b.look(ctx, h, m)
	return st, err
}

func (Btrfs) look(ctx context.Context, h host.Reader, m protect.Member) (t btrfsMount, s btrfs.Subvolume, st protect.MemberState, err error) {
	st.Space = -1
	if t, err = btrfsTop(ctx, h, m.Pool); err != nil {
		return t, s, st, err
	}
	list, err := t.list(ctx, h)
	if err != nil {
		return t, s, st, err
	}
	is := func(s btrfs.Subvolume) bool { return m.GUID != "" && s.UUID == m.GUID && fmt.Sprint(s.Born) == m.Birth }
	s, ok := pathOf(list, m.Snapshot)
	st.Gone, st.Other = !ok, ok && !is(s)
	if i := slices.IndexFunc(list, is); i >= 0 && (st.Gone || st.Other) {
		st.Now = list[i].Path
	}
	for _, c := range list {
		if ok && !st.Other && c.Parent == s.UUID && strings.HasPrefix(c.Path, pointsDir+"/clone-") { // what a rollback put in place needs no origin
			st.Clones = append(st.Clones, "/"+c.Path)
		}
	}
	return t, s, st, nil
}

// Mark implements protect.Storage: the facts are in a file beside, because the snapshot itself
// is never to change.
func (b Btrfs) Mark(ctx context.Context, d host.Streamer, m protect.Member, facts map[string]string) error {
	t, _, st, err := b.look(ctx, d, m)
	if err == nil {
		err = st.Usable(m)
	}
	if err != nil {
		return err
	}
	return writeFacts(ctx, d, path.Join(t.dir, m.Snapshot)+factsEnd, facts)
}

// Clone implements protect.Storage.
func (b Btrfs) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	if err := emptyDirectory(ctx, d, at.Dir); err != nil {
		return err
	}
	t, s, st, err := b.look(ctx, d, m)
	if err == nil {
		err = st.Usable(m)
	}
	if err == nil {
		err = makePoints(ctx, d, t.dir) // of what was restored to a filesystem on which no point was taken yet
	}
	if err != nil {
		return err
	}
	to := path.Join(t.dir, newClone())
	thing := inventory.Thing{Kind: inventory.Subvolume, Name: to, Proof: map[string]string{"parent": s.UUID, "filesystem": m.Pool, "top": t.dir, "within": m.Within}}
	_, err = at.Make(ctx, thing, func(*inventory.Thing) error {
		_, err := d.Run(ctx, btrfs.Clone(path.Join(t.dir, m.Snapshot), to)...)
		return err
	})
	if err != nil {
		return err
	}
	// Only root can reach the clone by its own path, so nobody put a link into it yet.
	return bind(ctx, d, path.Join(to, m.Within), t.source, at)
}

// At implements protect.Locator.
func (b Btrfs) At(ctx context.Context, h host.Reader, dir string) (protect.Member, error) {
	uuid, m, err := kinds.BtrfsOf(ctx, h, dir)
	if err == nil && uuid == "" {
		err = fmt.Errorf("%s is on no btrfs", dir)
	}
	if err != nil {
		return protect.Member{}, err
	}
	t, err := btrfsTop(ctx, h, uuid)
	if err != nil {
		return protect.Member{}, err
	}
	s, err := t.find(ctx, h, strings.TrimPrefix(path.Join(m.Root, strings.TrimPrefix(dir, m.Point)), "/"))
	return protect.Member{Volume: protect.Volume{Storage: b.Name(), Name: "/" + s.Path, Pool: uuid}, Snapshot: s.Path, GUID: s.UUID, Birth: fmt.Sprint(s.Born)}, err
}

// CopyOf implements protect.Copier.
func (b Btrfs) CopyOf(t inventory.Thing) (protect.Volume, bool) {
	name, ok := paths.Cut(t.Name, t.Proof["top"])
	return protect.Volume{Storage: b.Name(), Name: "/" + name, Pool: t.Proof["filesystem"], Within: t.Proof["within"]}, ok && t.Kind == inventory.Subvolume
}

// Holds implements protect.Holder.
func (b Btrfs) Holds(v protect.Volume, t inventory.Thing) bool {
	return inPoolOf(b, v, t)
}

// Destroy implements protect.Storage. Each is deleted by its number, which is never given to another.
func (b Btrfs) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	if err := allDestroyable(ctx, b, d, members); err != nil {
		return err
	}
	for _, m := range members {
		t, s, st, err := b.look(ctx, d, m)
		if err == nil {
			err = destroyable(m, st)
		}
		if err != nil {
			return err
		}
		if err := d.Remove(ctx, path.Join(t.dir, m.Snapshot)+factsEnd); err != nil {
			return err
		}
		if st.Gone {
			continue
		}
		if _, err := d.Run(ctx, btrfs.Delete(s.ID, t.dir)...); err != nil {
			return err
		}
	}
	return nil
}

// btrfsMount is where the top of a filesystem is mounted.
type btrfsMount struct{ dir, source string }

// btrfsUUID gives the UUID of the filesystem that a device is part of.
func btrfsUUID(ctx context.Context, h host.Reader, source string) (string, error) {
	found, err := h.Glob(ctx, "/sys/fs/btrfs/*/devices/"+kernelName(ctx, h, source))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("the kernel has %s in %d filesystems", source, len(found))
	}
	if err != nil {
		return "", err
	}
	return path.Base(path.Dir(path.Dir(found[0]))), nil
}

// btrfsTop finds where the top of a filesystem is mounted for writing.
func btrfsTop(ctx context.Context, h host.Reader, uuid string) (btrfsMount, error) {
	m, err := topMount(ctx, h, func(m observe.Mount) (bool, error) {
		if m.Type != "btrfs" {
			return false, nil
		}
		is, err := btrfsUUID(ctx, h, m.Source)
		return is == uuid, err
	})
	if err != nil {
		err = hint.With(fmt.Errorf("find the top of the btrfs filesystem %s: %w", uuid, err),
			"snapshots lie at its top, outside of what the server sees: mount it where only root enters, with mount -o subvolid=5 /dev/disk/by-uuid/"+uuid+" DIRECTORY")
	}
	return btrfsMount{m.Point, m.Source}, err
}

// Top gives the directory on which the top of the filesystem of a UUID is mounted for writing.
func (Btrfs) Top(ctx context.Context, h host.Reader, uuid string) (string, error) {
	t, err := btrfsTop(ctx, h, uuid)
	return t.dir, err
}

// list lists all subvolumes, the top first.
func (t btrfsMount) list(ctx context.Context, h host.Reader) ([]btrfs.Subvolume, error) {
	out, err := h.Output(ctx, btrfs.List(t.dir)...)
	if err != nil {
		return nil, err
	}
	all, err := btrfs.Parse(out)
	if err != nil {
		return nil, hint.With(err, "a subvolume has a line break in its name: look for it with find -inum 256, and rename it")
	}
	if out, err = h.Output(ctx, btrfs.Show(t.dir)...); err != nil {
		return nil, err
	}
	return append([]btrfs.Subvolume{{ID: btrfs.Top, UUID: btrfs.ParseUUID(out)}}, all...), nil
}

func pathOf(list []btrfs.Subvolume, name string) (btrfs.Subvolume, bool) {
	for _, s := range list {
		if s.Path == name {
			return s, true
		}
	}
	return btrfs.Subvolume{}, false
}
