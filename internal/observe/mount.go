package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
	"plumb/internal/host/mounts"
	"plumb/internal/stack"
)

// Mount is one line of mountinfo: one filesystem at one place of one mount
// namespace.
type Mount struct {
	ID      uint64   // unique on the host while it is mounted, in whatever namespace
	Dev     string   // device number of the filesystem, major:minor; 0:N when no block device is behind it
	Root    string   // the directory of the filesystem that is shown: "/" unless it is a bind mount or a subvolume
	Point   string   // where, as seen by the process whose mountinfo it is
	Type    string   // as the kernel names it: ext4, zfs, fuse.zfs, nfs4
	Source  string   // device, dataset, server:/path
	Options []string // of the mount, then of the superblock, each once
}

// String gives the place of the mount.
func (m Mount) String() string { return m.Point }

// mountLimit is the most mounts that are read of one namespace, which take
// 7 MB. Container hosts have thousands; a million is an accident that must not
// end a check.
const mountLimit = 20_000

// statTime is how long one stat or statfs may take. A dead NFS server makes
// them wait for ever.
const statTime = 2 * time.Second

// MountTable reads the mounts of one process, or of "self". A table that was
// too long comes with an error that says so, and is good as far as it goes.
func MountTable(ctx context.Context, h host.Reader, pid string) ([]Mount, error) {
	name := "/proc/" + pid + "/mountinfo"
	data, err := h.ReadFile(ctx, name)
	if err != nil && !errors.Is(err, host.ErrTooLarge) {
		return nil, err // which names the file
	}
	if err != nil {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	all, parseErr := parseMounts(data)
	return all, errors.Join(err, parseErr)
}

// parseMounts gives, with an error, the mounts of the lines before the bad one.
func parseMounts(data []byte) ([]Mount, error) {
	var all []Mount
	for i, err := range mounts.Parse(data) {
		if err != nil {
			return all, fmt.Errorf("mountinfo after %d mounts: %w", len(all), err)
		}
		if len(all) == mountLimit {
			return all, fmt.Errorf("mountinfo: more than %d mounts; the rest was not read", mountLimit)
		}
		all = append(all, mountOf(i))
	}
	return all, nil
}

func mountOf(i *mountinfo.Info) Mount {
	m := Mount{
		ID: uint64(max(i.ID, 0)), Dev: fmt.Sprintf("%d:%d", i.Major, i.Minor),
		Root: i.Root, Point: path.Clean("/" + i.Mountpoint), Type: i.FSType, Source: i.Source,
	}
	for o := range strings.SplitSeq(i.Options+","+i.VFSOptions, ",") {
		// The layers of a container image fill pages and say nothing here.
		if o == "" || strings.HasPrefix(o, "lowerdir") || slices.Contains(m.Options, o) {
			continue
		}
		m.Options = append(m.Options, o)
	}
	return m
}

// Option gives what follows name= among the options, or "" and whether the
// bare name is there.
func (m Mount) Option(name string) (value string, ok bool) {
	for _, o := range m.Options {
		key, value, _ := strings.Cut(o, "=")
		if key == name {
			return value, true
		}
	}
	return "", false
}

// OnBlock reports whether the filesystem is on a block device by its device
// number. btrfs and ZFS have numbers of their own and are not.
func (m Mount) OnBlock() bool { return !strings.HasPrefix(m.Dev, "0:") }

// Thing makes the filesystem of a mount, with the facts every kind has.
func (m Mount) Thing(name string) *stack.Thing {
	const from = "mountinfo"
	t := stack.NewThing("filesystem", name)
	t.Set("fstype", stack.Text(m.Type), from)
	t.Set("mountpoint", stack.Text(m.Point), from)
	t.Set("mount_id", stack.Int(int64(m.ID)), from)
	t.Set("mount_root", stack.Text(m.Root), from)
	t.Set("source", stack.Text(m.Source), from)
	t.Set("dev", stack.Text(m.Dev), from)
	t.Set("options", stack.List(m.Options), from)
	t.Set("read_only", stack.Bool(slices.Contains(m.Options, "ro")), from)
	if cow, known := m.copyOnWrite(); known {
		t.Set("cow", stack.Bool(cow), from)
	}
	for _, own := range ownFacts {
		if !slices.Contains(own.types, m.Type) {
			t.Absent(from, own.facts...)
		}
	}
	return t
}

// ownFacts are facts that only some types of filesystem have: on the others
// they are known not to exist.
var ownFacts = []struct{ types, facts []string }{
	{[]string{"ext2", "ext3", "ext4"}, []string{"data_mode", "journal", "barrier", "delalloc", "cluster_size"}},
	{[]string{"xfs"}, []string{"xfs_crc", "xfs_reflink"}},
	{[]string{"btrfs"}, []string{"data_checksums", "compression", "data_profile"}},
	{[]string{"ext2", "ext3", "ext4", "xfs"}, []string{"made_block_size"}},
	{[]string{"ext2", "ext3", "ext4", "xfs", "btrfs"}, []string{"features"}},
	{[]string{"ext2", "ext3", "ext4", "btrfs"}, []string{"errors_seen"}},
}

// copyOnWrite tells whether changed data goes to a new place. XFS does so only
// for blocks that two files share, which is not what the word means here. A
// filesystem over the network or in user space does as it likes.
func (m Mount) copyOnWrite() (cow, known bool) {
	switch m.Type {
	case "zfs", "fuse.zfs", "bcachefs":
		return true, true
	case "btrfs":
		return !slices.Contains(m.Options, "nodatacow"), true
	case "ext2", "ext3", "ext4", "xfs", "tmpfs", "ramfs", "jfs", "vfat":
		return false, true
	}
	return false, false
}

// Space sets what statfs tells of a filesystem through a path on it.
func Space(ctx context.Context, h host.Reader, t *stack.Thing, name string) error {
	ctx, cancel := context.WithTimeout(ctx, statTime)
	defer cancel()
	s, err := h.Statfs(ctx, name)
	if err != nil {
		return err
	}
	const from = "statfs"
	t.Set("block_size", stack.Int(s.BlockSize), from)
	if s.TotalBytes == 0 { // some FUSE filesystems do not say
		return nil
	}
	t.Set("size", stack.Int(int64(s.TotalBytes)), from)
	t.Set("free", stack.Int(int64(s.AvailBytes)), from)
	used := s.TotalBytes - min(s.FreeBytes, s.TotalBytes)
	if able := used + s.AvailBytes; able > 0 { // as df counts: what root keeps back is not there to be used
		t.Set("used_percent", stack.Float(100*float64(used)/float64(able)), from)
	}
	if s.TotalInodes == 0 || slices.Contains([]string{"btrfs", "zfs", "fuse.zfs"}, t.Text("fstype")) {
		t.Absent(from, "inodes", "inodes_free")
		return nil
	}
	t.Set("inodes", stack.Int(int64(s.TotalInodes)), from)
	t.Set("inodes_free", stack.Int(int64(s.FreeInodes)), from)
	return nil
}
