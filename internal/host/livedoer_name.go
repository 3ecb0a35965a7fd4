package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// MakeDir implements Doer. Until it has its owner nobody else can enter it.
func (h *LiveDoer) MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error {
	return changeError("make directory", name, h.at(ctx, name, false, isError, func(_ context.Context, p place) error { return p.makeDir(perm, uid, gid) }))
}

func (p place) makeDir(perm fs.FileMode, uid, gid int) error {
	if err := unix.Mkdirat(p.dir, p.base, 0o700); err != nil {
		return err
	}
	fd, err := openAt(p.dir, p.base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), p.base)
	defer f.Close()
	if uid >= 0 && uid != os.Geteuid() || gid >= 0 && gid != os.Getegid() {
		if err := f.Chown(uid, gid); err != nil {
			return fmt.Errorf("give it to user %d: %w", uid, strip(err))
		}
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	return errors.Join(f.Sync(), syncAt(p.dir))
}

// Rename implements Doer.
func (h *LiveDoer) Rename(ctx context.Context, from, to string) error {
	return changeError("rename "+from+" to", to, h.at(ctx, from, false, isError, func(_ context.Context, old place) error {
		return at(to, false, isError, func(p place) error {
			if err := old.rename(p); err != nil {
				return err
			}
			return errors.Join(syncAt(p.dir), syncAt(old.dir))
		})
	}))
}

func (p place) rename(to place) error {
	err := unix.Renameat2(p.dir, p.base, to.dir, to.base, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// Not every filesystem can refuse to replace, so we look ourselves.
	if fd, _, err := to.look(); err == nil {
		unix.Close(fd)
		return fs.ErrExist
	}
	return unix.Renameat(p.dir, p.base, to.dir, to.base)
}
