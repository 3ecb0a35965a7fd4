package point

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"plumb/internal/dice"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// likeOrigin lists the properties that a clone is given as its origin has them. Otherwise it would
// inherit them from whatever is above it.
func likeOrigin() []string {
	return []string{"recordsize", "compression", "checksum", "primarycache", "secondarycache", "logbias", "sync", "atime", "relatime",
		"xattr", "acltype", "aclinherit", "dnodesize", "redundant_metadata", "copies", "dedup", "special_small_blocks", "direct", "exec"}
}

// Clone implements protect.Storage. The clone is made beside its origin, under the same quota, as that takes only the
// permissions to clone and create there. Its properties keep others from snapshotting it, and ZFS from mounting it by itself.
func (z ZFS) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	err := z.clone(ctx, d, m, at)
	if err != nil {
		err = fmt.Errorf("clone %s on %s: %w", m.Snapshot, at.Dir, err)
	}
	return err
}

func (z ZFS) clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	set, err := z.cloneBeside(ctx, d, m, at, "canmount=noauto", "mountpoint="+z.unmounted())
	if err != nil {
		return err
	}
	err = at.Mount(ctx, set.Name, func() error {
		err := z.mount(ctx, d, set.Name, at.Dir)
		if err == nil {
			err = mountedAt(ctx, d, set.Name, at.Dir)
		}
		if err == nil && m.Within != "" {
			err = inside(ctx, d, set.Name, at.Dir, m.Within)
		}
		return err
	})
	if err != nil {
		err = errors.Join(err, at.Book.Remove(context.WithoutCancel(ctx), set))
	}
	return err
}

// cloneBeside makes a clone that will be mounted, with further options.
func (z ZFS) cloneBeside(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt, options ...string) (inventory.Thing, error) {
	set := inventory.Thing{Kind: inventory.Dataset}
	if err := emptyDirectory(ctx, d, at.Dir); err != nil {
		return set, err
	}
	like, err := z.cloneOptions(ctx, d, m)
	if err != nil {
		return set, err
	}
	name, mark := cloneName(m.Name)
	options = append(append(options, like...), kinds.RunProperty+"="+mark)
	set.Name, set.Proof = name, map[string]string{"run": mark, storageProof: z.Name()}
	return at.Make(ctx, set, func(t *inventory.Thing) error {
		if _, err := d.Run(ctx, zfs.Clone(m.Snapshot, name, options...)...); err != nil {
			return hint.With(err, "a user other than root needs: zfs allow -u USER clone,create,mount DATASET")
		}
		if err := z.usable(ctx, d.Run, m); err != nil { // asked once more: from now on nobody can put another in its place
			return err
		}
		if _, err := d.Run(ctx, zfs.Value("guid", name)...); err == nil {
			delete(t.Proof, "run") // known by its GUID it is removed alone, never with what is below it
		}
		return nil
	})
}

// storageProof is the proof that names the storage, ZFS or zfs-fuse, that made a dataset of the inventory.
const storageProof = "storage"

// CopyOf implements protect.Copier.
func (z ZFS) CopyOf(t inventory.Thing) (protect.Volume, bool) {
	return protect.Volume{Storage: z.Name(), Name: t.Name, Pool: zfs.PoolOf(t.Name)}, t.Kind == inventory.Dataset && t.Proof[storageProof] == z.Name()
}

// Holds implements protect.Holder: a pool is lost as a whole.
func (z ZFS) Holds(v protect.Volume, t inventory.Thing) bool {
	return inPoolOf(z, v, t)
}

// inPoolOf tells whether a thing is a copy in the pool of a volume.
func inPoolOf(c protect.Copier, v protect.Volume, t inventory.Thing) bool {
	made, ok := c.CopyOf(t)
	return ok && made.Pool == v.Pool
}

// emptyDirectory is an error unless dir is an empty directory. A mount would hide what is in it.
func emptyDirectory(ctx context.Context, h host.Reader, dir string) error {
	st, err := h.Stat(ctx, dir)
	if err == nil && !st.Mode.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return err
	}
	found, err := h.Glob(ctx, host.Verbatim(dir)+"/*")
	if len(found) > 0 {
		err = hint.With(fmt.Errorf("the directory holds %s already", path.Base(found[0])), "name an empty one")
	}
	return err
}

// cloneOptions returns the properties with which a clone of any kind is made.
func (z ZFS) cloneOptions(ctx context.Context, d host.Doer, m protect.Member) ([]string, error) {
	if err := z.usable(ctx, d.Run, m); err != nil {
		return nil, err
	}
	out, err := d.Run(ctx, zfs.Values(m.Name)...)
	if err != nil {
		return nil, err
	}
	values := zfs.ParseValues(out)
	if values["keystatus"] == "unavailable" {
		return nil, hint.With(fmt.Errorf("the key of %s is not loaded", m.Name), "zfs load-key "+values["encryptionroot"])
	}
	options := []string{"com.sun:auto-snapshot=false", "readonly=off"}
	for _, name := range likeOrigin() {
		if v := values[name]; v != "" && v != "-" {
			options = append(options, name+"="+v)
		}
	}
	return options, nil
}

// unmounted is the mount point of a clone: zfs-fuse mounts only where a property says.
func (z ZFS) unmounted() string {
	if z.Fuse {
		return "none"
	}
	return "legacy"
}

// cloneName returns a new name for a clone: beside its origin, or below it if the origin is a pool's own dataset.
func cloneName(origin string) (name, mark string) {
	mark = "clone-" + dice.Hex(4)
	parent, leaf := path.Split(origin)
	if parent == "" {
		parent = origin + "/"
	}
	return parent + "plumb-" + mark + "-" + leaf[:min(len(leaf), 60)], mark
}

// mount mounts a clone, with neither setuid programs nor devices, which a server's user could have left among the files to become root.
func (z ZFS) mount(ctx context.Context, d host.Doer, name, dir string) error {
	if !z.Fuse {
		_, err := d.Run(ctx, "mount", "-t", "zfs", "-o", "nosuid,nodev", name, dir)
		return err
	}
	// zfs-fuse does the mount itself, and ignores setuid=off and devices=off.
	for _, argv := range [][]string{zfs.Set("mountpoint", dir, name), zfs.Mount(name), powerless(dir)} {
		if _, err := d.Run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}

// inside mounts, on top of a mounted dataset, the directory of it that the server sees.
func inside(ctx context.Context, d host.Doer, name, dir, within string) error {
	st, err := d.Stat(ctx, dir)
	if err != nil {
		return err
	}
	if err := realDirectory(ctx, d, path.Join(dir, within), path.Join(st.Resolved, within)); err != nil {
		return err
	}
	if err := bound(ctx, d, path.Join(dir, within), dir); err != nil {
		return err
	}
	return mountedAt(ctx, d, name, dir)
}

// mountedAt is an error unless a dataset is what one sees at dir. A server that is started on an
// empty directory would make itself a new, empty database.
func mountedAt(ctx context.Context, h host.Reader, name, dir string) error {
	st, err := h.Stat(ctx, dir)
	if err != nil {
		return err
	}
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return err
	}
	at := path.Clean(dir)
	if st.Resolved != "" {
		at = st.Resolved
	}
	slices.Reverse(all) // the uppermost is the last
	i := slices.IndexFunc(all, func(m observe.Mount) bool { return m.Point == at })
	if i < 0 || all[i].Source != name || all[i].Dev != fmt.Sprintf("%d:%d", st.DevMajor, st.DevMinor) {
		return fmt.Errorf("%s is not what is mounted there", name)
	}
	return nil
}
