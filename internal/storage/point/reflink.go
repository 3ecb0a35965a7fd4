package point

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/inventory"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Reflink takes points of a server's directories on a filesystem without snapshots whose files
// can share blocks: XFS. Each file is copied by itself, so the copy is of one moment only while nobody
// writes. The filesystem cannot be frozen for that: a reflink of a frozen one waits for its thaw.
//
// A volume is a directory: the name is the device, Within the directory from the filesystem's top.
type Reflink struct{ synced }

// Parts of a point's directory.
const (
	copyDir  = "copy"  // what was copied
	partEnd  = ".part" // while it is being copied
	goneEnd  = ".gone" // while it is being removed
	copyWait = time.Minute
)

// Name implements protect.Storage.
func (Reflink) Name() string { return "reflink" }

// Piecewise implements protect.Piecewise.
func (Reflink) Piecewise() {}

// Volume implements protect.Storage.
func (r Reflink) Volume(s *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	known := s.Find(stack.Ref{Kind: "filesystem", Name: fs.Text("mountpoint")})
	if fs.Text("fstype") != "xfs" || known == nil {
		return protect.Volume{}, false
	}
	shares, _ := known.Bool("xfs_reflink")
	return protect.Volume{Storage: r.Name(), Name: fs.Text("source"), Pool: fs.Text("source"), Mountpoint: fs.Text("mountpoint"),
		Within: fs.Text("mount_root")}, shares
}

// Place implements protect.Placer.
func (r Reflink) Place(ctx context.Context, h host.Reader, v protect.Volume, name string) (protect.Volume, error) {
	rest, ok := paths.Cut(name, v.Mountpoint)
	st, err := h.Stat(ctx, name)
	switch {
	case err != nil:
		return v, err
	case !ok || !st.Mode.IsDir():
		return v, errors.New("it lies outside of the server's directories, and only those are copied on a filesystem without snapshots")
	}
	v.Mountpoint, v.Within = name, path.Join(v.Within, rest)
	v.Pool = filesystemUUID(ctx, h, v.Name)
	if v.Within == "/" {
		return v, hint.With(fmt.Errorf("%s is the top of its filesystem, so there is no place beside it for a copy", name), "keep the data in a directory below the top, and give the top to root")
	}
	_, err = xfsTop(ctx, h, v.Pool)
	return v, err
}

// filesystemUUID gives the UUID of what is on a device, as udev tells it, or else the
// device itself.
func filesystemUUID(ctx context.Context, h host.Reader, device string) string {
	links, err := h.Glob(ctx, "/dev/disk/by-uuid/*")
	for _, link := range links {
		if err == nil && kernelName(ctx, h, link) == kernelName(ctx, h, device) {
			return path.Base(link)
		}
	}
	return device
}

// xfsTop finds where the top of a filesystem is mounted.
func xfsTop(ctx context.Context, h host.Reader, pool string) (observe.Mount, error) {
	m, err := topMount(ctx, h, func(m observe.Mount) (bool, error) {
		return m.Type == "xfs" && (m.Source == pool || filesystemUUID(ctx, h, m.Source) == pool), nil
	})
	if err != nil {
		err = hint.With(fmt.Errorf("find the top of the XFS filesystem %s: %w", pool, err), "copies are made at its top, where the server cannot see them: mount it where only root can enter")
	}
	return m, err
}

// Atomic implements protect.Storage.
func (Reflink) Atomic(vols []protect.Volume) string {
	return fmt.Sprintf("XFS has no snapshots: the files of %s are copied one after the other, which is of one moment only while the server is frozen (--mode freeze)", vols[0].Mountpoint)
}

// Room implements protect.Storage.
func (Reflink) Room(s *stack.Stack, vols []protect.Volume) error { return room(s, vols) }

// Snapshot implements protect.Storage.
func (r Reflink) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, facts map[string]string) ([]protect.Member, error) {
	var failed error
	for _, v := range vols {
		if failed == nil {
			failed = r.copy(ctx, d, v, name, facts)
		}
	}
	all, err := r.Find(context.WithoutCancel(ctx), d, vols, name)
	return all, errors.Join(failed, err)
}

// copy makes the copy of one directory, under another name until it is whole and on the disk.
func (r Reflink) copy(ctx context.Context, d host.Streamer, v protect.Volume, name string, facts map[string]string) error {
	m, err := xfsTop(ctx, d, v.Pool)
	if err == nil {
		err = makePoints(ctx, d, m.Point)
	}
	if err != nil {
		return err
	}
	to := path.Join(m.Point, snapshotPath(v.Within, name))
	if !inventory.Missing(ctx, d, to) {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	if err := d.MakeDir(ctx, to+partEnd, 0o700, 0, 0); err != nil {
		return err
	}
	if err := reflink(ctx, d, path.Join(m.Point, v.Within), path.Join(to+partEnd, copyDir)); err != nil {
		return err
	}
	if err := writeFacts(ctx, d, to+partEnd+"/facts"+factsEnd, facts); err != nil {
		return err
	}
	return d.Rename(ctx, to+partEnd, to)
}

// reflink copies a directory with owners, modes, attributes and holes, sharing all blocks. Nobody
// but root can reach the copy meanwhile, so no link can be put in the way of what is written; what is
// read keeps its owner and mode, wherever a link may have led.
func reflink(ctx context.Context, d host.Streamer, from, to string) error {
	st, err := d.Stat(ctx, from)
	if err != nil {
		return err
	}
	if st.Resolved != from || !st.Mode.IsDir() {
		return fmt.Errorf("%s leads to %s: somebody put a link there", from, st.Resolved)
	}
	_, err = d.Pipe(ctx, host.Pipe{Argv: []string{"cp", "--archive", "--reflink=always", "--one-file-system", "--no-target-directory", "--", from, to}, Works: true, Progress: copyWait})
	if err == nil {
		_, err = d.Run(ctx, "sync", "-f", "--", to)
	}
	return err
}

// Find implements protect.Storage.
func (r Reflink) Find(ctx context.Context, h host.Reader, vols []protect.Volume, name string) ([]protect.Member, error) {
	var all []protect.Member
	for _, v := range vols {
		top, err := xfsTop(ctx, h, v.Pool)
		if err != nil {
			return all, err
		}
		m := protect.Member{Volume: v, Snapshot: snapshotPath(v.Within, name)}
		for _, end := range []string{"", partEnd, goneEnd} {
			id, there, err := identify(ctx, h, path.Join(top.Point, m.Snapshot)+end)
			if err != nil {
				return all, err
			}
			if there {
				m.GUID, m.Birth, m.Part = id.inode, id.born, end != ""
				all = append(all, m)
				break
			}
		}
	}
	return all, nil
}

// identity tells one directory from another of its name.
type identity struct{ inode, born string }

func identify(ctx context.Context, h host.Reader, dir string) (id identity, there bool, err error) {
	if inventory.Missing(ctx, h, dir) {
		return id, false, nil
	}
	st, err := h.Stat(ctx, dir)
	if err == nil && (st.Resolved != dir || st.Born.IsZero()) {
		err = fmt.Errorf("%s cannot be told from another: it is a link, or the filesystem does not keep when a file was made", dir)
	}
	return identity{fmt.Sprint(st.Inode), st.Born.UTC().Format(time.RFC3339Nano)}, err == nil, err
}

// State implements protect.Storage.
func (r Reflink) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	_, st, err := r.look(ctx, h, m)
	return st, err
}

// look finds a copy under any of the names that it has in its life.
func (Reflink) look(ctx context.Context, h host.Reader, m protect.Member) (dir string, st protect.MemberState, err error) {
	st.Space = -1
	top, err := xfsTop(ctx, h, m.Pool)
	if err != nil {
		return "", st, err
	}
	other := false
	for _, end := range []string{"", partEnd, goneEnd} {
		dir := path.Join(top.Point, m.Snapshot) + end
		id, there, err := identify(ctx, h, dir)
		if err != nil {
			return dir, st, err
		}
		if there && (id == identity{m.GUID, m.Birth}) {
			if end == goneEnd {
				st.Lacks = []string{"files, whose removal was begun"}
			}
			return dir, st, nil
		}
		other = other || there
	}
	st.Other, st.Gone = other, !other
	return path.Join(top.Point, m.Snapshot), st, nil
}

// Mark implements protect.Storage.
func (r Reflink) Mark(ctx context.Context, d host.Streamer, m protect.Member, facts map[string]string) error {
	dir, st, err := r.look(ctx, d, m)
	if err == nil {
		err = st.Usable(m)
	}
	if err != nil {
		return err
	}
	return writeFacts(ctx, d, dir+"/facts"+factsEnd, facts)
}

// Clone implements protect.Storage.
func (r Reflink) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	if err := emptyDirectory(ctx, d, at.Dir); err != nil {
		return err
	}
	from, st, err := r.look(ctx, d, m)
	if err == nil {
		err = st.Usable(m)
	}
	if err != nil {
		return err
	}
	top, err := xfsTop(ctx, d, m.Pool)
	if err != nil {
		return err
	}
	to := path.Join(top.Point, newClone())
	_, err = at.Make(ctx, inventory.Thing{Kind: inventory.Tree, Name: to}, func(*inventory.Thing) error {
		if err := d.MakeDir(ctx, to, 0o700, 0, 0); err != nil {
			return err
		}
		if err := d.Replace(ctx, path.Join(to, inventory.Marker), nil, 0o600); err != nil {
			return err
		}
		return reflink(ctx, d, path.Join(from, copyDir), path.Join(to, copyDir))
	})
	if err != nil {
		return err
	}
	return bind(ctx, d, path.Join(to, copyDir), top.Source, at)
}

// Destroy implements protect.Storage. A copy is given a name of its own, looked at again under
// that, and only then removed: another that was put in its place gets its name back.
func (r Reflink) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	if err := allDestroyable(ctx, r, d, members); err != nil {
		return err
	}
	for _, m := range members {
		if err := r.destroy(ctx, d, m); err != nil {
			return err
		}
	}
	return nil
}

func (r Reflink) destroy(ctx context.Context, d host.Streamer, m protect.Member) error {
	dir, st, err := r.look(ctx, d, m)
	if err == nil {
		err = destroyable(m, st)
	}
	if err != nil || st.Gone {
		return err
	}
	top, err := xfsTop(ctx, d, m.Pool)
	if err != nil {
		return err
	}
	gone := path.Join(top.Point, m.Snapshot) + goneEnd
	if dir != gone {
		if err := d.Rename(ctx, dir, gone); err != nil {
			return err
		}
	}
	id, there, err := identify(ctx, d, gone)
	if err == nil && there && (id != identity{m.GUID, m.Birth}) {
		err = errors.Join(destroyable(m, protect.MemberState{Other: true}), d.Rename(ctx, gone, dir))
	}
	if err != nil || !there {
		return err
	}
	return host.RemoveTree(ctx, d, gone)
}
