package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

// openZFS tells whether the kernel has ZFS. Without it, a pool is one of
// zfs-fuse.
func openZFS(ctx context.Context, h host.Reader) bool {
	_, err := h.Stat(ctx, "/sys/module/zfs")
	return err == nil
}

const fuseProgram = "zfs-fuse"

// fuseLock is where zfs-fuse keeps its lock; without the directory it ends in
// silence.
const fuseLock = "/var/lock"

// leastVdev is the smallest device that ZFS takes (SPA_MINDEVSIZE).
const leastVdev experiment.Bytes = 64 << 20

func checkPool(ctx context.Context, h host.Reader, v experiment.Volume) (lab.Need, error) {
	n := vdevCount(v)
	need := lab.Need{Disk: int64(n)*int64(v.Size) + int64(v.Log) + int64(v.Cache), Root: true, Programs: []string{"zpool", "zfs", "losetup"}, Why: poolWhy(v, n)}
	if err := checkPoolWords(v); err != nil {
		return need, err
	}
	if err := checkProfile(v); err != nil {
		return need, err
	}
	if !h.About().Root {
		return need, hint.With(errors.New("a volume that is a pool needs root"), rootHint)
	}
	if openZFS(ctx, h) {
		if err := checkARC(ctx, h, v.ARC); err != nil {
			return need, err
		}
		return need, programs(ctx, h, need.Programs)
	}
	need.Memory = int64(v.ARC)
	need.Programs = append(need.Programs, fuseProgram)
	if !installed(ctx, h, fuseProgram) {
		return need, hint.With(errors.New("this kernel has no ZFS, and there is no zfs-fuse either"),
			"modprobe zfs loads OpenZFS where it is installed; the package zfs-fuse has an old ZFS in a program of its own")
	}
	if err := programs(ctx, h, need.Programs); err != nil {
		return need, err
	}
	if _, err := h.Stat(ctx, fuseLock); errors.Is(err, fs.ErrNotExist) {
		return need, hint.With(fmt.Errorf("zfs-fuse keeps its lock in %s, which leads nowhere here", fuseLock), "mkdir /run/lock, as systemd does when a machine starts")
	}
	return need, checkFuse(v)
}

// checkARC wants the ARC of OpenZFS to be what an experiment says. It belongs to the whole machine, so a lab does not
// change it; and the module passes over limits that it does not take, with which the data would be in memory.
func checkARC(ctx context.Context, h host.Reader, want experiment.Bytes) error {
	if want == 0 {
		return nil
	}
	text, err := h.ReadFile(ctx, zfs.ARCStats)
	if err != nil {
		return fmt.Errorf("volume.arc: %w", err)
	}
	most, known := zfs.ParseKstat(text)["c_max"]
	if !known {
		return fmt.Errorf("volume.arc: %s has no c_max", zfs.ARCStats)
	}
	if most := experiment.Bytes(most); most != want {
		return hint.With(fmt.Errorf("volume.arc %s: the ARC of this machine may take %s, and a lab does not change what belongs to the whole machine", want, most),
			fmt.Sprintf("set zfs_arc_max to %d, and before that zfs_arc_min below it; or leave volume.arc out", int64(want)))
	}
	return nil
}

func vdevCount(v experiment.Volume) int {
	least := map[string]int{"stripe": 2, "mirror": 2, "raidz": 3}[v.Layout]
	if v.Vdevs > 0 {
		return v.Vdevs
	}
	return max(least, 1)
}

func poolWhy(v experiment.Volume, n int) string {
	why := "a pool of " + v.Size.String()
	if n > 1 {
		why = fmt.Sprintf("a pool of %d times %s", n, v.Size)
	}
	if v.Log > 0 {
		why += ", a log device of " + v.Log.String()
	}
	if v.Cache > 0 {
		why += ", a cache device of " + v.Cache.String()
	}
	return why
}

func checkPoolWords(v experiment.Volume) error {
	for name, size := range map[string]experiment.Bytes{"size": v.Size, "log": v.Log, "cache": v.Cache} {
		if size < leastVdev && (size > 0 || name == "size") {
			return fmt.Errorf("volume.%s %s: ZFS takes no device smaller than %s", name, size, leastVdev)
		}
	}
	if !slices.Contains([]string{"", "stripe", "mirror", "raidz"}, v.Layout) {
		return hint.With(fmt.Errorf("volume.layout %q: there is no such layout", v.Layout), "stripe, mirror and raidz are known")
	}
	if v.Layout == "" && v.Vdevs > 1 {
		return hint.With(fmt.Errorf("volume.vdevs %d: their layout is missing", v.Vdevs), "volume.layout: stripe, mirror or raidz")
	}
	if n := vdevCount(v); v.Layout == "mirror" && n < 2 || v.Layout == "raidz" && n < 3 || n > 16 {
		return fmt.Errorf("volume.vdevs %d: a %s cannot have so many", n, v.Layout)
	}
	for where, of := range map[string]map[string]string{"pool": v.Pool, "properties": v.Properties, "log_properties": v.Logs} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if ours(name) || strings.ContainsAny(name, "= \t\n") || name == "" {
				return fmt.Errorf("volume.%s.%s: that is not for an experiment to set", where, name)
			}
		}
	}
	return checkClone(v, "a pool", byCopy, bySnapshot)
}

// ours tells whether a property decides where things are, which is the lab's
// to say.
func ours(property string) bool {
	return slices.Contains([]string{"mountpoint", "canmount", "cachefile", "altroot", "bootfs", "readonly", "sharenfs", "sharesmb",
		"multihost", "zoned", "jailed", "overlay", "keylocation", "keyformat", "encryption"}, property)
}

// checkFuse refuses what came after zfs-fuse, which stands at version 23 of
// pools (2010).
func checkFuse(v experiment.Volume) error {
	const newer = "that needs OpenZFS; zfs-fuse has ZFS as it was in 2010"
	if v.ARC > 0 && (v.ARC < 16<<20 || v.ARC > 16<<30) {
		return fmt.Errorf("volume.arc %s: zfs-fuse takes 16M to 16G", v.ARC)
	}
	for _, where := range []string{"properties", "log_properties"} {
		of := map[string]map[string]string{"properties": v.Properties, "log_properties": v.Logs}[where]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if !slices.Contains(fuseProperties(), name) {
				return hint.With(fmt.Errorf("volume.%s.%s: zfs-fuse has no such property", where, name), newer)
			}
		}
		if c := of["compression"]; c == "lz4" || strings.HasPrefix(c, "zstd") {
			return hint.With(fmt.Errorf("volume.%s.compression: %s: zfs-fuse has only lzjb, zle and gzip-1 to gzip-9", where, c), newer)
		}
	}
	if v.Pool["ashift"] == "" && len(v.Pool) > 0 || len(v.Pool) > 1 {
		return hint.With(errors.New("volume.pool: with zfs-fuse, only ashift can be set"), newer)
	}
	return nil
}

// fuseProperties are those of zfs-fuse 0.7.0 that an experiment may set.
func fuseProperties() []string {
	return []string{"recordsize", "checksum", "compression", "atime", "devices", "exec", "setuid", "snapdir", "aclmode", "aclinherit",
		"xattr", "copies", "primarycache", "secondarycache", "logbias", "dedup", "quota", "reservation", "refquota", "refreservation"}
}
