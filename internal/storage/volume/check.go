package volume

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// How a trial gets its data.
const (
	byAuto     = "auto"
	byCopy     = "copy"
	byReflink  = "reflink"
	bySnapshot = "snapshot"
)

const rootHint = "run it as root, or take volume.kind: directory. A directory shares the filesystem, its mount options and the page cache with everything else there, and cannot be limited"

func checkDirectory(v experiment.Volume) (lab.Need, error) {
	alone := experiment.Volume{Kind: v.Kind, Size: v.Size, Clone: v.Clone}
	if v.Filesystem != "" || v.Mount != "" || len(v.Mkfs) > 0 || v.Layout != "" || v.Log+v.Cache+v.ARC != 0 || len(v.Pool)+len(v.Properties) > 0 || v.Vdevs != 0 || v.Profile != "" {
		return lab.Need{}, hint.With(errors.New("a volume that is a directory has no filesystem, properties or profile of its own"), "volume.kind: loop or zpool has, and needs root")
	}
	return lab.Need{Why: "a directory"}, checkClone(alone, "a directory", byCopy, byReflink)
}

func checkClone(v experiment.Volume, on string, can ...string) error {
	if v.Clone == "" || v.Clone == byAuto || slices.Contains(can, v.Clone) {
		return nil
	}
	return hint.With(fmt.Errorf("volume.clone %s: that cannot be done on %s", v.Clone, on), "auto, "+strings.Join(can, " and ")+" can")
}

// leastSize is the smallest device that the filesystems of these days can be
// made on (mkfs.xfs refuses less than 300 MB since xfsprogs 5.19).
func leastSize(filesystem string) (least experiment.Bytes, known bool) {
	least, known = map[string]experiment.Bytes{"ext4": 16 << 20, "xfs": 300 << 20, "btrfs": 128 << 20}[filesystem]
	return least, known
}

// canClone is what filesystems offer besides copies.
func canClone(filesystem string) []string {
	switch filesystem {
	case "xfs":
		return []string{byCopy, byReflink}
	case "btrfs":
		return []string{byCopy, byReflink, bySnapshot}
	}
	return []string{byCopy}
}

func checkLoop(ctx context.Context, h host.Reader, v experiment.Volume) (lab.Need, error) {
	need := lab.Need{Disk: int64(v.Size), Root: true, Programs: []string{"mkfs." + v.Filesystem, "losetup", "mount", "umount"}, Why: "a volume of " + v.Size.String()}
	least, known := leastSize(v.Filesystem)
	if !known {
		return need, hint.With(fmt.Errorf("volume.filesystem %q: such a filesystem is not made here", v.Filesystem), "ext4, xfs and btrfs are known")
	}
	if v.Size < least {
		return need, fmt.Errorf("volume.size %s: %s needs at least %s", v.Size, v.Filesystem, least)
	}
	if err := checkClone(v, v.Filesystem, canClone(v.Filesystem)...); err != nil {
		return need, err
	}
	if err := checkProfile(v); err != nil {
		return need, err
	}
	if !h.About().Root {
		return need, hint.With(errors.New("a volume on a loop device needs root"), rootHint)
	}
	if err := programs(ctx, h, need.Programs); err != nil {
		return need, err
	}
	if !kernelHas(ctx, h, v.Filesystem) {
		return need, hint.With(fmt.Errorf("volume.filesystem %s: this kernel does not have it", v.Filesystem), "modprobe "+v.Filesystem+" tells more")
	}
	return need, nil
}

func checkProfile(v experiment.Volume) error {
	if _, err := experiment.ParseProfile(v.Profile); err != nil {
		return fmt.Errorf("volume.profile: %w", err)
	}
	return nil
}

// programs is an error when one of the programs is not installed.
func programs(ctx context.Context, h host.Reader, names []string) error {
	for _, name := range names {
		if !installed(ctx, h, name) {
			return hint.With(fmt.Errorf("%s is not installed", name), packageOf(name))
		}
	}
	return nil
}

func installed(ctx context.Context, h host.Reader, name string) bool {
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"} {
		if st, err := h.Stat(ctx, path.Join(dir, name)); err == nil && st.Mode.IsRegular() {
			return true
		}
	}
	return false
}

func packageOf(program string) string {
	switch program {
	case "mkfs.ext4":
		return "the package e2fsprogs has it"
	case "mkfs.xfs":
		return "the package xfsprogs has it"
	case "mkfs.btrfs", "btrfs":
		return "the package btrfs-progs (btrfsprogs) has it"
	case "zpool", "zfs":
		return "the package zfsutils-linux (OpenZFS) or zfs-fuse has it"
	}
	return "the package util-linux has it"
}

// kernelHas tells whether the kernel has a filesystem, or could load it. It
// says yes when that cannot be seen, as in containers: the mount will tell.
func kernelHas(ctx context.Context, h host.Reader, filesystem string) bool {
	text, err := h.ReadFile(ctx, "/proc/filesystems")
	if err != nil || slices.Contains(strings.Fields(string(text)), filesystem) {
		return true
	}
	release, err := h.ReadFile(ctx, "/proc/sys/kernel/osrelease")
	if err != nil {
		return true
	}
	modules, err := h.Glob(ctx, path.Join("/lib/modules", strings.TrimSpace(string(release)), "kernel/fs/*"))
	if err != nil || len(modules) == 0 {
		return true
	}
	return slices.ContainsFunc(modules, func(dir string) bool { return path.Base(dir) == filesystem })
}
