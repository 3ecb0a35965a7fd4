package kinds

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plumb/internal/await"
	"plumb/internal/btrfs"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/observe"
)

// subvolumeOf finds a subvolume of ours by its UUID, which it keeps for ever, or by its path
// as long as nobody wrote the UUID down.
func subvolumeOf(ctx context.Context, h host.Reader, t inventory.Thing) (s btrfs.Subvolume, there bool, err error) {
	top := t.Proof["top"]
	if err := sameBtrfs(ctx, h, top, t.Proof["filesystem"]); err != nil {
		return s, false, err
	}
	out, err := h.Output(ctx, btrfs.List(top)...)
	if err != nil {
		return s, false, err
	}
	all, err := btrfs.Parse(out)
	uuid := t.Proof["uuid"]
	for _, v := range all {
		if uuid != "" && v.UUID == uuid || uuid == "" && path.Join(top, v.Path) == t.Name {
			return v, true, err
		}
	}
	return s, false, err
}

// sameBtrfs is an error unless the top of a filesystem is mounted on a directory: what is not
// there could otherwise be taken for gone.
func sameBtrfs(ctx context.Context, h host.Reader, top, uuid string) error {
	here, err := at(ctx, h, top)
	if err != nil {
		return err
	}
	if n := len(here); n > 0 && here[n-1].Type == "btrfs" && here[n-1].Root == "/" && uuid != "" {
		device := path.Base(resolved(ctx, h, here[n-1].Source))
		if found, err := h.Glob(ctx, "/sys/fs/btrfs/"+uuid+"/devices/"+device); err == nil && len(found) == 1 {
			return nil
		}
	}
	return fmt.Errorf("it is not known whether it is there: the top of the btrfs filesystem %s is not mounted on %s", uuid, top)
}

func proveSubvolume(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	s, there, err := subvolumeOf(ctx, d, *t)
	switch {
	case err != nil:
		return err
	case !there || s.UUID == "":
		return errors.New("btrfs does not list it")
	case s.Parent != t.Proof["parent"]:
		return foreign("it is a snapshot of something else")
	}
	t.Proof["uuid"] = s.UUID
	return nil
}

// subvolume deletes a subvolume, by its number, which is never given to another.
func (h holder) subvolume(ctx context.Context, e inventory.Entry) error {
	s, there, err := subvolumeOf(ctx, h.Do, e.Thing)
	if err != nil || !there {
		return err
	}
	if s.Parent != e.Thing.Proof["parent"] || !strings.Contains(s.Path, "/") {
		return foreign("it is another subvolume now, or not known to be ours")
	}
	_, err = h.Do.Run(ctx, btrfs.Delete(s.ID, e.Thing.Proof["top"])...)
	return err
}

// BtrfsOf gives the UUID of the btrfs on which a path lies, and how that is mounted; "" when it lies on none.
func BtrfsOf(ctx context.Context, h host.Reader, name string) (uuid string, m observe.Mount, err error) {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return "", m, err
	}
	m, _ = observe.Holding(all, name)
	if m.Type != "btrfs" {
		return "", m, nil
	}
	found, err := h.Glob(ctx, "/sys/fs/btrfs/*/devices/"+path.Base(resolved(ctx, h, m.Source)))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("the kernel has %s in %d filesystems", m.Source, len(found))
	}
	if err != nil {
		return "", m, fmt.Errorf("look on which btrfs %s lies: %w", name, err)
	}
	return path.Base(path.Dir(path.Dir(found[0]))), m, nil
}

// missing tells whether there is nothing under the name of a thing. While the btrfs on which it was made is not mounted where it was,
// that is not known.
func missing(ctx context.Context, h host.Reader, t inventory.Thing) (bool, error) {
	if uuid := t.Proof["filesystem"]; uuid != "" {
		now, _, err := BtrfsOf(ctx, h, t.Name)
		if err == nil && now != uuid {
			err = fmt.Errorf("it is not known whether it is there: the btrfs filesystem %s is not mounted where it was", uuid)
		}
		if err != nil {
			return false, err
		}
	}
	return inventory.Missing(ctx, h, t.Name), nil
}

// received deletes a subvolume that was made in a tree of ours, which only root enters: what is there under its name is
// ours, however far it came.
func (h holder) received(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if gone, err := missing(ctx, h.Do, e.Thing); err != nil || gone {
		return err
	}
	if !h.belowTree(ctx, name) {
		return foreign("it lies in no directory of ours")
	}
	return await.Until(ctx, patience, func() (bool, error) { // what received it may be just ending
		_, err := h.Do.Run(ctx, btrfs.Remove(name)...)
		if err != nil && inventory.Missing(ctx, h.Do, name) {
			err = nil
		}
		return err == nil, err
	})
}

// late deletes the subvolumes in a tree of ours that were thought to be gone: what a killed run had begun made them since.
func (h holder) late(ctx context.Context, tree string) error {
	var all []error
	for _, e := range h.Entries {
		name := e.Thing.Name
		if e.Thing.Kind == inventory.Received && strings.HasPrefix(name, tree+"/") && !inventory.Missing(ctx, h.Do, name) {
			_, err := h.Do.Run(ctx, btrfs.Remove(name)...)
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
