package host

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/host/walk"
)

// Stat implements Reader. Below /proc/PID/root links are followed as that
// process would, and Resolved keeps the prefix. Resolved is empty where the
// path goes through a link of /proc that has no path, such as one to a socket.
func (l *Live) Stat(ctx context.Context, name string) (Stat, error) {
	s, err := onFile(ctx, l, name, true, func(context.Context) (Stat, error) {
		return statOf(name)
	})
	return s, fileError("stat", name, err)
}

func statOf(name string) (Stat, error) {
	at, err := walk.InRoot(name, true)
	if err != nil {
		return Stat{}, err
	}
	st, err := statx(at)
	if err != nil {
		return Stat{}, err
	}
	st.Resolved = resolved(name, at)
	return st, nil
}

// resolved returns the path after all links; "" if there is no such path.
func resolved(name, at string) string {
	if _, root, _ := walk.SplitRoot(name); root != "" {
		return at
	}
	if walk.IsMagic(name) {
		to, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(to, "/") {
			return ""
		}
		return to
	}
	if !strings.HasPrefix(name, "/") {
		return ""
	}
	to, err := walk.Resolve("", "", name, true)
	if err != nil {
		return ""
	}
	return to
}

func statx(name string) (Stat, error) {
	var st unix.Statx_t
	err := walk.Retry(func() error { // looking at an automount point must not mount it
		return unix.Statx(unix.AT_FDCWD, name, unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &st)
	})
	if err == unix.ENOSYS { // before Linux 4.11
		return oldStat(name)
	}
	if err != nil {
		return Stat{}, err
	}
	s := Stat{
		DevMajor: st.Dev_major, DevMinor: st.Dev_minor,
		RdevMajor: st.Rdev_major, RdevMinor: st.Rdev_minor,
		Inode:     st.Ino,
		Size:      int64(st.Size),
		Blocks:    int64(st.Blocks),
		BlockSize: int64(st.Blksize),
		Mode:      fileMode(uint32(st.Mode)),
		UID:       st.Uid, GID: st.Gid,
		Modified: modified(st.Mtime.Sec, int64(st.Mtime.Nsec)),
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.Born = modified(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		s.MountID = st.Mnt_id
	}
	return s, nil
}

func oldStat(name string) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return Stat{}, err
	}
	return Stat{
		DevMajor: unix.Major(st.Dev), DevMinor: unix.Minor(st.Dev),
		RdevMajor: unix.Major(st.Rdev), RdevMinor: unix.Minor(st.Rdev),
		Inode:     st.Ino,
		Size:      st.Size,
		Blocks:    st.Blocks,
		BlockSize: int64(st.Blksize),
		Mode:      fileMode(st.Mode),
		UID:       st.Uid, GID: st.Gid,
		Modified: modified(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)),
	}, nil
}

// modified is the time of the last change. It is zero for years that JSON cannot write.
func modified(sec, nsec int64) time.Time {
	t := time.Unix(sec, nsec).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// fileMode turns the kernel's mode bits into Go's.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}
