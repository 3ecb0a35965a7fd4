package instance

import (
	"context"
	"fmt"
	"path"
	"slices"

	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/observe"
	"plumb/internal/protect"
)

// make makes the directories, clones the snapshots into them, and neutralises the copy.
func (c *Copy) make(ctx context.Context, members []protect.Member) error {
	do := c.maker.Keeper.Do
	if err := c.book.Tree(ctx, inventory.Thing{Name: c.Dir, Life: c.life}, 0o711); err != nil {
		return fmt.Errorf("make the directory of the copy: %w", err)
	}
	if err := do.MakeDir(ctx, c.Root, 0o700, -1, -1); err != nil {
		return err
	}
	if c.Purpose != protect.ForBrowse {
		if err := do.MakeDir(ctx, c.Run, 0o700, c.Server.UID, c.Server.GID); err != nil {
			return err
		}
	}
	for _, m := range members {
		c.members = append(c.members, m)
		if err := c.clone(ctx, m); err != nil {
			return fmt.Errorf("clone %s: %w", m.Snapshot, err)
		}
	}
	if c.Purpose == protect.ForBrowse {
		if err := c.sealed(ctx); err != nil {
			return err
		}
		return c.open(ctx)
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	return c.engine.Neutralise(ctx, do, c.Copy)
}

// open lets the server's user into the copy. Until all is mounted nobody but root enters it: a clone's directories are his, and
// for one in which another is to be mounted he could put a link to any directory of this host in its place.
func (c *Copy) open(ctx context.Context) error {
	_, err := c.maker.Keeper.Do.Run(ctx, "chmod", "711", "--", c.Root)
	return err
}

// sealed lets nobody write to the copy, or run a program of it.
func (c *Copy) sealed(ctx context.Context) error {
	for _, m := range c.members {
		at := c.In(path.Clean(m.Mountpoint))
		if _, err := c.maker.Keeper.Do.Run(ctx, "mount", "-o", "remount,bind,ro,nosuid,nodev,noexec", "--", at); err != nil {
			return err
		}
		mounts, err := observe.MountTable(ctx, c.maker.Keeper.Do, "self")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(mounts, func(m observe.Mount) bool { return m.Point == at && slices.Contains(m.Options, "ro") }) {
			return fmt.Errorf("%s is not mounted read-only", at)
		}
	}
	return nil
}

// clone clones one snapshot to where the server had its volume, below the copy's root.
// Members come with parents first, so that what is mounted in another finds its place there.
func (c *Copy) clone(ctx context.Context, m protect.Member) error {
	do := c.maker.Keeper.Do
	s, err := c.maker.Keeper.StorageOf(m.Volume)
	if err != nil {
		return err
	}
	at := c.In(path.Clean(m.Mountpoint))
	if err := host.MakeWay(ctx, do, c.Root, at); err != nil {
		return err
	}
	if err := s.Clone(ctx, do, m, protect.CloneAt{Dir: at, Book: c.book, Life: c.life}); err != nil {
		return err
	}
	if err := c.mounted(ctx, at); err != nil || !c.stranger {
		return err
	}
	return c.given(ctx, at)
}

// mounted proves that a clone lies where the server will look: one started on an empty
// directory makes a new database there.
func (c *Copy) mounted(ctx context.Context, at string) error {
	in, err := c.maker.Keeper.Do.Stat(ctx, at)
	if err != nil {
		return err
	}
	above, err := c.maker.Keeper.Do.Stat(ctx, path.Dir(at))
	if err != nil {
		return err
	}
	// A copy of files on the filesystem that holds the copies is another mount of the same device.
	if in.DevMajor == above.DevMajor && in.DevMinor == above.DevMinor && in.MountID == above.MountID {
		return fmt.Errorf("the clone is not mounted on %s", at)
	}
	return nil
}

// thing makes a thing of the copy's, which lives as long as it.
func (c *Copy) thing(ctx context.Context, t inventory.Thing, make func(*inventory.Thing) error) error {
	t.Life = c.life
	_, err := c.book.Make(ctx, t, make)
	return err
}
