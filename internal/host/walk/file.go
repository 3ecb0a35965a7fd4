package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
)

// ErrNotRegular says that something is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// Open opens the file, which must be a regular one; a link is not followed.
func (p Place) Open(flags int, perm uint32) (*os.File, error) {
	// Without O_NONBLOCK we would wait for ever if there were a pipe.
	fd, err := openAt(p.dir, p.base, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), p.base), nil
}

// Look opens whatever is there as an O_PATH descriptor, which the caller must close.
func (p Place) Look() (fd int, st unix.Stat_t, err error) {
	if fd, err = openAt(p.dir, p.base, unix.O_PATH|unix.O_NOFOLLOW, 0); err != nil {
		return -1, st, err
	}
	if err = unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// Has tells whether a file that was opened here is still the one of its name.
func (p Place) Has(f *os.File) bool {
	var here, opened unix.Stat_t
	return unix.Fstatat(p.dir, p.base, &here, unix.AT_SYMLINK_NOFOLLOW) == nil && unix.Fstat(int(f.Fd()), &opened) == nil &&
		here.Dev == opened.Dev && here.Ino == opened.Ino
}

// Remove removes a file or an empty directory, and syncs the directory it was in.
func (p Place) Remove() error {
	if err := p.unlink(); err != nil {
		return err
	}
	return syncAt(p.dir)
}

func (p Place) unlink() error {
	err := unix.Unlinkat(p.dir, p.base, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir := unix.Unlinkat(p.dir, p.base, unix.AT_REMOVEDIR); !errors.Is(dir, syscall.ENOTDIR) {
		return dir
	}
	return err
}

// Replace puts a new file in the place of the old one, with the same owner, mode and extended attributes. The new file is written beside
// the old one, synced and renamed over it; then the directory is synced. If the context ends before the rename, nothing is replaced.
func (p Place) Replace(ctx context.Context, data []byte, perm fs.FileMode) error {
	beside := leftover(p.base)
	if err := unix.Unlinkat(p.dir, beside, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fd, err := openAt(p.dir, beside, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer unix.Unlinkat(p.dir, beside, 0) // after the rename there is nothing to remove
	f := os.NewFile(uintptr(fd), beside)
	_, err = f.Write(data)
	if err == nil {
		err = p.likeOld(f, perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return err
	}
	if err := unix.Renameat(p.dir, beside, p.dir, p.base); err != nil {
		return err
	}
	return syncAt(p.dir)
}

// likeOld gives a new file the mode, owner and extended attributes (labels,
// access lists) of the one it will replace. If there is none, the new file gets the owner
// of its directory: root must own nothing under a name that another user chose.
func (p Place) likeOld(f *os.File, perm fs.FileMode) error {
	old, st, err := p.Look()
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.give(f); err != nil {
			return err
		}
		return f.Chmod(perm)
	}
	if err != nil {
		return err
	}
	defer unix.Close(old)
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return ErrNotRegular
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return fmt.Errorf("keep its owner: %w", err)
		}
	}
	if err := f.Chmod(fs.FileMode(st.Mode & 0o777)); err != nil {
		return err
	}
	return copyAttributes(fmt.Sprintf("/proc/self/fd/%d", old), int(f.Fd()))
}

// give gives a file to the owner of its directory, if we are root and the owner is
// somebody else.
func (p Place) give(f *os.File) error {
	if p.under == 0 || os.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(p.dir, &st); err != nil {
		return err
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// copyAttributes copies extended attributes. It is no error if the filesystem does
// not have any.
func copyAttributes(old string, to int) error {
	names := make([]byte, 64<<10)
	n, err := unix.Listxattr(old, names)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its extended attributes: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(old, name, value)
		if err == nil {
			err = unix.Fsetxattr(to, name, value[:n], 0)
		}
		if err != nil {
			return fmt.Errorf("keep its extended attribute %s: %w", name, err)
		}
	}
	return nil
}

// leftover is the name under which the new file is written. It is always the
// same, so that Tidy can find what a killed Plumb left. Programs that read all files
// of a directory ignore names like this.
func leftover(base string) string { return "." + base + ".plumb-new" }

// Tidy removes what a Replace left beside the file when it was killed.
func (p Place) Tidy() error { return unix.Unlinkat(p.dir, leftover(p.base), 0) }

// Append adds to the end of a file, and syncs it. A missing file is made, readable by its owner alone.
func (p Place) Append(data []byte) error {
	f, err := p.Open(unix.O_WRONLY|unix.O_APPEND, 0)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		f, err = p.Open(unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, 0o600)
	}
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && made {
		err = syncAt(p.dir)
	}
	return err
}

// Write writes to a file in place.
func (p Place) Write(data []byte) error {
	f, err := p.Open(unix.O_WRONLY|unix.O_TRUNC, 0)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	return err
}

// Writable is an error unless the file could be written in place.
func (p Place) Writable() error { return unix.Faccessat(p.dir, p.base, unix.W_OK, 0) }

// Replaceable is an error unless we have the permissions, and there is the space, to put another file in its place.
func (p Place) Replaceable() error {
	if err := unix.Faccessat(p.dir, ".", unix.W_OK|unix.X_OK, 0); err != nil {
		return err
	}
	var room unix.Statfs_t
	if err := unix.Fstatfs(p.dir, &room); err != nil {
		return err
	}
	const enough = 1 << 20
	if room.Blocks > 0 && room.Bavail*uint64(room.Bsize) < enough {
		return fmt.Errorf("%w: less than 1 MiB is free", syscall.ENOSPC)
	}
	return nil
}

// MakeDir makes a directory and syncs it. A uid or gid of -1 is our own. Nobody else can enter the directory before it has its owner.
func (p Place) MakeDir(perm fs.FileMode, uid, gid int) error {
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
			return fmt.Errorf("give it to user %d: %w", uid, hint.Cause(err))
		}
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	return errors.Join(f.Sync(), syncAt(p.dir))
}

// Rename gives a file or directory another name on the same filesystem, and syncs both directories. If the name is taken the error is
// fs.ErrExist.
func (p Place) Rename(to Place) error {
	if err := p.rename(to); err != nil {
		return err
	}
	return errors.Join(syncAt(to.dir), syncAt(p.dir))
}

func (p Place) rename(to Place) error {
	err := unix.Renameat2(p.dir, p.base, to.dir, to.base, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// Not every filesystem can refuse to replace, so we look ourselves.
	if fd, _, err := to.Look(); err == nil {
		unix.Close(fd)
		return fs.ErrExist
	}
	return unix.Renameat(p.dir, p.base, to.dir, to.base)
}
