package kinds

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plumb/internal/btrfs"
	"plumb/internal/host"
	"plumb/internal/inventory"
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
