package filesystem

import (
	"context"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// btrfs reads options and, from sysfs, the devices and profile of the
// filesystem. It is found there by one of its devices.
func (v *volume) btrfs(ctx context.Context) {
	const from = "mountinfo"
	nosum := slices.Contains(v.mount.Options, "nodatasum") || slices.Contains(v.mount.Options, "nodatacow")
	v.thing.Set("data_checksums", stack.Bool(!nosum), from)
	if c := compression(v.mount.Options); c != "" {
		v.thing.Set("compression", stack.Text(c), from)
	} else {
		v.thing.SetAbsent("compression", from)
	}
	dir := v.btrfsDir(ctx)
	if dir == "" {
		v.obs.Gap(v.thing.Ref, "no filesystem in /sys/fs/btrfs has the device "+v.mount.Source, "", "block", "disks", "data_profile", "metadata_profile", "features", "errors_seen")
		return
	}
	v.btrfsDevices(ctx, dir)
	v.btrfsProfile(ctx, "data_profile", dir+"/allocation/data")
	v.btrfsProfile(ctx, "metadata_profile", dir+"/allocation/metadata")
	v.thing.Set("features", stack.List(v.names(ctx, dir+"/features/*")), dir+"/features")
	v.btrfsErrors(ctx, dir)
}

// btrfsProfiles are the ways data is spread over devices. The directory that
// names the one in use holds counters too.
var btrfsProfiles = []string{"single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"}

// btrfsProfile records how one kind of blocks is spread; with a conversion under
// way there are two.
func (v *volume) btrfsProfile(ctx context.Context, fact, dir string) {
	found, err := v.h.Glob(ctx, dir+"/*")
	if err != nil {
		v.gap(err, fact)
		return
	}
	profiles := []string{}
	for _, f := range found {
		if name := path.Base(f); slices.Contains(btrfsProfiles, name) {
			profiles = append(profiles, name)
		}
	}
	if len(profiles) == 0 {
		v.obs.Gap(v.thing.Ref, dir+" names no profile", "", fact)
		return
	}
	v.thing.Set(fact, stack.Text(strings.Join(profiles, ",")), dir)
}

// compression gives the compress option in force: zstd:3, lzo, or "".
func compression(options []string) string {
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		if (key == "compress" || key == "compress-force") && value != "no" && value != "none" {
			return value
		}
	}
	return ""
}

// btrfsDir finds the filesystem's directory in sysfs, by the number of the
// device that mountinfo names as its source.
func (v *volume) btrfsDir(ctx context.Context) string {
	dev := path.Base(v.mount.Source)
	if to, err := v.h.Readlink(ctx, v.mount.Source); err == nil { // /dev/mapper/vg-lv → ../dm-3
		dev = path.Base(to)
	}
	found, err := v.h.Glob(ctx, "/sys/fs/btrfs/*/devices/"+host.Verbatim(dev))
	if err != nil || len(found) == 0 {
		return ""
	}
	return path.Dir(path.Dir(found[0]))
}

func (v *volume) btrfsDevices(ctx context.Context, dir string) {
	devices := v.names(ctx, dir+"/devices/*")
	refs := make([]stack.Ref, len(devices))
	for i, d := range devices {
		refs[i] = stack.Ref{Kind: "block", Name: d}
	}
	v.thing.Link("block", refs...)
}

func (v *volume) names(ctx context.Context, pattern string) []string {
	found, _ := v.h.Glob(ctx, pattern)
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = path.Base(f)
	}
	return names
}

// btrfsErrors adds up the error counters of all devices.
func (v *volume) btrfsErrors(ctx context.Context, dir string) {
	files, _ := v.h.Glob(ctx, dir+"/devinfo/*/error_stats")
	total := int64(0)
	for _, f := range files {
		data, err := v.h.ReadFile(ctx, f)
		if err != nil {
			v.gap(err, "errors_seen")
			return
		}
		total += parseErrorStats(data)
	}
	if len(files) > 0 {
		v.thing.Set("errors_seen", stack.Int(total), dir+"/devinfo/*/error_stats")
	}
}
