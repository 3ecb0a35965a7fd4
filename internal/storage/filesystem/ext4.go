package filesystem

import (
	"bufio"
	"bytes"
	"context"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/observe"
	"plumb/internal/stack"
)

// ext4 reads what the kernel does with the filesystem, from /proc and /sys,
// and what was fixed when it was made, from its superblock.
func (v *volume) ext4(ctx context.Context) {
	dev := v.kernelName(ctx)
	if dev == "" {
		v.obs.Gap(v.thing.Ref, "no device in /sys/dev/block has number "+v.mount.Dev, "", "data_mode", "barrier", "delalloc", "errors_seen", "features", "cluster_size", "journal")
		return
	}
	v.ext4Options(ctx, dev)
	name := "/sys/fs/ext4/" + dev + "/errors_count"
	if data, err := v.h.ReadFile(ctx, name); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			v.thing.Set("errors_seen", stack.Int(n), name)
		}
	}
	v.ext4Superblock(ctx, "/dev/"+dev)
}

// kernelName gives the kernel's name of the device behind a filesystem, such
// as dm-3, from its number.
func (v *volume) kernelName(ctx context.Context) string {
	to, err := v.h.Readlink(ctx, "/sys/dev/block/"+v.mount.Dev)
	if err != nil {
		return ""
	}
	return path.Base(to)
}

// ext4Options reads every option in force. mountinfo shows only those that
// differ from the defaults of this filesystem.
func (v *volume) ext4Options(ctx context.Context, dev string) {
	name := "/proc/fs/ext4/" + dev + "/options" // whichever of the three types it is mounted as
	data, err := v.h.ReadFile(ctx, name)
	if err != nil {
		v.gap(err, "data_mode", "barrier", "delalloc", "journal")
		return
	}
	o := parseExt4Options(data)
	if o.DataMode == "" { // only a filesystem with a journal has a mode
		v.thing.Set("journal", stack.Bool(false), name)
		v.thing.SetAbsent("data_mode", name)
	} else {
		v.thing.Set("journal", stack.Bool(true), name)
		v.setOption("data_mode", stack.Text(o.DataMode), name)
	}
	if o.Barrier != nil {
		v.setOption("barrier", stack.Bool(*o.Barrier), name)
	}
	if o.Delalloc != nil {
		v.thing.Set("delalloc", stack.Bool(*o.Delalloc), name)
	}
}

// Ext4Options are options in force; nil and "" when the file does not say.
type Ext4Options struct {
	DataMode string // ordered, journal, writeback; "" without a journal
	Barrier  *bool
	Delalloc *bool
}

// parseExt4Options reads /proc/fs/ext4/DEV/options: one option a line.
func parseExt4Options(data []byte) Ext4Options {
	var o Ext4Options
	on, off := true, false
	for line := range strings.Lines(string(data)) {
		switch word := strings.TrimSpace(line); word {
		case "barrier", "barrier=1":
			o.Barrier = &on
		case "nobarrier", "barrier=0":
			o.Barrier = &off
		case "delalloc":
			o.Delalloc = &on
		case "nodelalloc":
			o.Delalloc = &off
		case "data=ordered", "data=journal", "data=writeback":
			o.DataMode = strings.TrimPrefix(word, "data=")
		}
	}
	return o
}

// banner is what the programs of e2fsprogs say before they say what is wrong: dumpe2fs 1.47.0 (5-Feb-2023).
var banner = regexp.MustCompile(`\b[a-z0-9]+ [0-9.]+ \([0-9]+-[A-Z][a-z]+-[0-9]{4}\); `)

func (v *volume) ext4Superblock(ctx context.Context, dev string) {
	facts := []string{"features", "cluster_size", "made_block_size"}
	if !v.h.About().Root {
		v.obs.Gap(v.thing.Ref, "the superblock of "+dev+" is only shown to root", "run as root", facts...)
		return
	}
	out, err := v.h.Output(ctx, "dumpe2fs", "-h", dev)
	if err != nil {
		v.obs.Gap(v.thing.Ref, banner.ReplaceAllString(err.Error(), ""), observe.HintFor(err), facts...)
		return
	}
	const from = "dumpe2fs -h"
	s := parseSuperblock(out)
	if len(s.Features) == 0 || s.BlockSize == 0 {
		v.obs.Gap(v.thing.Ref, "dumpe2fs -h "+dev+": no features or block size in the answer", "", facts...)
		return
	}
	v.thing.Set("features", stack.List(s.Features), from)
	v.thing.Set("made_block_size", stack.Int(s.BlockSize), from)
	cluster := s.BlockSize
	if slices.Contains(s.Features, "bigalloc") {
		cluster = s.ClusterSize
	}
	if cluster > 0 {
		v.thing.Set("cluster_size", stack.Int(cluster), from)
	}
}

// superblock is what dumpe2fs -h tells; sizes in bytes, 0 when not said.
type superblock struct {
	Features    []string
	BlockSize   int64
	ClusterSize int64
}

// parseSuperblock reads `dumpe2fs -h` or `tune2fs -l`.
func parseSuperblock(out []byte) superblock {
	var s superblock
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case "Filesystem features":
			s.Features = strings.Fields(value)
		case "Block size":
			s.BlockSize, _ = strconv.ParseInt(value, 10, 64)
		case "Cluster size":
			s.ClusterSize, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return s
}
