package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/await"
	"plumb/internal/host/mounts"
	"plumb/internal/host/processes"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// users finds who uses the disk, a partition of it, the disk that it is a partition of, or the same disk by another
// path. What the kernel knows is asked first; ZFS and programs that open a disk do not show there.
func (l *look) users() error {
	all, err := l.devices()
	if err != nil {
		return err
	}
	paths, err := l.paths()
	if err != nil {
		return err
	}
	if err := l.usersOf(append(all, paths...)); err != nil {
		return err
	}
	if len(paths) > 0 && len(l.d.Users) > 0 {
		l.use("%s is the same disk by another path, or reports the same identity", strings.Join(paths, ", "))
	}
	return nil
}

// paths lists the devices that are the same disk by another path, and their partitions. multipath joins such paths; where it does not
// run, or not yet, each is a disk to the kernel.
func (l *look) paths() (all []string, err error) {
	if l.d.maker.wwid == "" && l.d.maker.serial == "" {
		return nil, nil
	}
	names, err := l.h.Glob(l.ctx, "/sys/class/block/*")
	for _, name := range names {
		name = path.Base(name)
		if name == l.whole() || l.sys(name, "partition") != "" || !l.d.maker.same(l.saysOf(name)) {
			continue
		}
		parts, partErr := l.partitions(name)
		all, err = append(append(all, name), parts...), errors.Join(err, partErr)
	}
	return all, err
}

// partitions lists those of a disk.
func (l *look) partitions(name string) (all []string, err error) {
	parts, err := l.h.Glob(l.ctx, "/sys/class/block/"+name+"/"+name+"*/partition")
	for _, p := range parts {
		all = append(all, path.Base(path.Dir(p)))
	}
	return all, err
}

// usersOf finds who uses devices.
func (l *look) usersOf(all []string) error {
	for _, part := range all {
		holders, err := l.h.Glob(l.ctx, "/sys/class/block/"+part+"/holders/*")
		if err != nil {
			return err
		}
		for _, holder := range holders {
			l.use("%s is part of %s", part, path.Base(holder))
		}
	}
	own := map[string]string{} // by number
	for _, part := range all {
		if number := l.sys(part, "dev"); number != "" {
			own[number] = part
		}
	}
	for _, ask := range []func(map[string]string) error{l.mounts, l.swaps, l.pools, l.loops, l.open} {
		if err := ask(own); err != nil {
			return err
		}
	}
	slices.Sort(l.d.Users)
	l.d.Users = slices.Compact(l.d.Users)
	return nil
}

func (l *look) use(format string, args ...any) {
	l.d.Users = append(l.d.Users, fmt.Sprintf(format, args...))
}

// devices lists the device, its partitions, and the disk that it is a partition of.
func (l *look) devices() ([]string, error) {
	all := []string{l.d.Name}
	if l.d.Whole != "" {
		return append(all, l.d.Whole), nil
	}
	parts, err := l.partitions(l.d.Name)
	if len(parts) > 0 {
		l.d.On = append(l.d.On, fmt.Sprintf("%s: %s", units.Count(len(parts), "partition"), strings.Join(parts, ", ")))
	}
	return append(all, parts...), err
}

// is tells which of our devices a path leads to; "" for none. The path of a device need not lie in /dev.
func (l *look) is(name string, own map[string]string) string {
	if !path.IsAbs(name) {
		return ""
	}
	st, err := l.h.Stat(l.ctx, name)
	if err != nil || st.Mode&fs.ModeDevice == 0 {
		return ""
	}
	return own[fmt.Sprintf("%d:%d", st.RdevMajor, st.RdevMinor)]
}

// mounts looks into the mounts of all processes.
func (l *look) mounts(own map[string]string) error {
	return mounts.Everywhere(l.ctx, l.h, func(_ string, m *mountinfo.Info) {
		part := own[fmt.Sprintf("%d:%d", m.Major, m.Minor)]
		if part == "" && m.Major == 0 { // btrfs shows a number of its own
			part = l.is(m.Source, own)
		}
		if part != "" {
			l.use("%s is mounted at %s", part, m.Mountpoint)
		}
	})
}

func (l *look) swaps(own map[string]string) error {
	text, err := l.h.ReadFile(l.ctx, "/proc/swaps")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without swap
	}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, " "); ok {
			if part := l.is(name, own); part != "" {
				l.use("%s is swap", part)
			}
		}
	}
	return err
}

// pools asks ZFS, whose disks have no holder.
func (l *look) pools(own map[string]string) error {
	text, err := l.h.Output(l.ctx, zfs.Tools{}.Status()...)
	if err != nil {
		text, err = l.h.Output(l.ctx, zfs.Tools{Fuse: true}.Status()...)
	}
	if errors.Is(err, context.DeadlineExceeded) { // it may have some
		return fmt.Errorf("ask ZFS for the disks of its pools: %w", err)
	}
	if err != nil { // not installed, or not running: then it has no pools, and the labels tell
		return nil
	}
	for _, s := range zfs.ParseStatus(text) {
		for _, top := range s.Classes {
			for _, v := range leaves(top) {
				name := v
				if !path.IsAbs(name) {
					name = "/dev/" + name
				}
				if part := l.is(name, own); part != "" {
					l.use("%s is part of the pool %s", part, s.Pool)
				}
			}
		}
	}
	return nil
}

func leaves(vdevs []*zfs.Vdev) (all []string) {
	for _, v := range vdevs {
		if len(v.Children) == 0 {
			all = append(all, v.Name)
		}
		all = append(all, leaves(v.Children)...)
	}
	return all
}

// loops finds loop devices on the disk.
func (l *look) loops(own map[string]string) error {
	files, err := l.h.Glob(l.ctx, "/sys/class/block/loop*/loop/backing_file")
	for _, f := range files {
		text, readErr := l.h.ReadFile(l.ctx, f)
		if readErr != nil {
			continue // detached meanwhile
		}
		if part := l.is(strings.TrimSpace(string(text)), own); part != "" {
			l.use("%s is behind %s", part, strings.Split(f, "/")[4])
		}
	}
	return err
}

// patience is how often, and pause for how long, a process may have the disk open that only looks at it: udev,
// lsblk, a losetup that is ending.
const (
	patience = 8
	pause    = 250 * time.Millisecond
)

// open finds processes that have the disk open: a server on a raw device, a virtual machine, zfs-fuse.
func (l *look) open(own map[string]string) error {
	for i := range patience {
		users, err := l.openers(own)
		if err != nil {
			return err
		}
		if len(users) == 0 {
			return nil
		}
		if i == patience-1 {
			l.d.Users = append(l.d.Users, users...)
			return nil
		}
		if err := await.Pause(l.ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// openers asks what is open for its number: in a container a device may have any name. Only what lies in a /dev is asked: a file on a
// server that does not answer would be waited for.
func (l *look) openers(own map[string]string) (users []string, err error) {
	fds, err := processes.Entries(l.ctx, l.h, "fd/*")
	for _, fd := range fds {
		to, readErr := l.h.Readlink(l.ctx, fd)
		if readErr != nil || !strings.HasPrefix(to, "/dev/") {
			continue
		}
		part := l.is(fd, own)
		if part == "" {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		comm, _ := l.h.ReadFile(l.ctx, "/proc/"+pid+"/comm")
		name := ""
		if to != "/dev/"+part {
			name = " as " + to
		}
		users = append(users, fmt.Sprintf("%s is open in process %s %s%s", part, pid, strings.TrimSpace(string(comm)), name))
	}
	return users, err
}
