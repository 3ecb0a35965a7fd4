package scratch

import (
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/units"
)

// Place is the filesystem that a directory is on.
type Place struct {
	Type  string // "ext4", "xfs", "btrfs", "zfs", "tmpfs", …; the number in hex when it is none that we know
	Free  int64  // bytes that this user can still take
	Total int64  // bytes
	Disks []Disk // below it, as far as they could be found: more than one below RAID and volume managers
	Doubt string // why Disks is empty or may not be all
}

// Disk is a block device that a filesystem's writes end at, as the kernel
// here sees it.
type Disk struct {
	Name       string // "nvme0n1"
	Through    []string
	Model      string // "" when it has none
	WriteCache string // "write back": it must be flushed; "write through": the kernel sends no flushes; "" for unknown
	Rotational bool
	Virtual    bool // virtio, Xen, a loop device or another that hands on to something unseen
}

// types are the magic numbers of statfs(2).
var types = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", 0x2fc12fc1: "zfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.F2FS_SUPER_MAGIC: "f2fs",
	unix.FUSE_SUPER_MAGIC: "fuse", 0xca451a4e: "bcachefs", unix.RAMFS_MAGIC: "ramfs",
}

// Where tells what a directory is on.
func Where(dir string) (Place, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Place{}, fmt.Errorf("look at the filesystem of %s: %w", dir, err)
	}
	p := Place{Type: types[int64(st.Type)], Free: free(&st), Total: int64(st.Blocks) * st.Bsize}
	if p.Type == "" {
		p.Type = fmt.Sprintf("%#x", st.Type)
	}
	p.Disks, p.Doubt = disksBelow(dir, p.Type)
	return p, nil
}

// Fits is an error when a filesystem has not so many bytes left. Some give
// the room of removed files back only after a while, so it asks for a second.
func Fits(dir string, bytes int64) error {
	var st unix.Statfs_t
	for range 11 {
		if err := unix.Statfs(dir, &st); err != nil {
			return fmt.Errorf("look at the filesystem of %s: %w", dir, err)
		}
		if free(&st) >= bytes {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s has %s left, but %s are needed: %w", dir, units.Bytes(free(&st)), units.Bytes(bytes), ErrFull)
}

func free(st *unix.Statfs_t) int64 { return int64(st.Bavail) * st.Bsize }

// deviceOf gives the block device number of a filesystem: that of stat, or,
// where it is made up as on btrfs, that of the device it was mounted from.
func deviceOf(dir string) (major, minor uint32, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, 0, err
	}
	if unix.Major(st.Dev) != 0 {
		return unix.Major(st.Dev), unix.Minor(st.Dev), nil
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return 0, 0, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return 0, 0, err
	}
	mounts, err := small("/proc/self/mountinfo")
	if err != nil {
		return 0, 0, err
	}
	source := parseMountSource(mounts, path)
	if err := unix.Stat(source, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, 0, fmt.Errorf("mounted from %q, which is not a block device here", source)
	}
	return unix.Major(st.Rdev), unix.Minor(st.Rdev), nil
}
