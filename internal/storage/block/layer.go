package block

import (
	"context"
	"path"
	"strings"

	"plumb/internal/stack"
)

// byName tells virtual devices by the name the kernel gives them.
var byName = []struct{ prefix, layer string }{
	{"loop", "loop"}, {"md", "md"}, {"zram", "zram"}, {"bcache", "bcache"}, {"drbd", "drbd"},
	{"rbd", "rbd"}, {"nbd", "nbd"}, {"zd", "zvol"}, {"ram", "ram"},
}

// layer tells what a device is. A partition of a loop device is a partition.
func (d *device) layer(ctx context.Context) string {
	if _, ok := d.text(ctx, "partition"); ok {
		return "partition"
	}
	if uuid, ok := d.text(ctx, "dm/uuid"); ok {
		return mapperLayer(uuid)
	}
	for _, n := range byName {
		if strings.HasPrefix(d.name, n.prefix) {
			return n.layer
		}
	}
	return "disk"
}

// mapperLayer reads the UUID of a device-mapper device, which starts with the
// name of the tool that made it: LVM-…, CRYPT-LUKS2-…, mpath-….
func mapperLayer(uuid string) string {
	switch tool, _, _ := strings.Cut(uuid, "-"); strings.ToLower(tool) {
	case "lvm":
		return "lvm"
	case "crypt":
		return "crypt"
	case "mpath":
		return "multipath"
	}
	if rest, ok := strings.CutPrefix(uuid, "part"); ok && strings.Contains(rest, "-mpath-") {
		return "partition" // kpartx's partition of a multipath device
	}
	return "dm"
}

// attached reports whether a loop device has a file. Most hosts have eight or
// more that do not.
func (d *device) attached(ctx context.Context) bool {
	_, ok := d.text(ctx, "loop/backing_file")
	return ok
}

// chain records what the device lies on, and what only its layer has.
func (d *device) chain(ctx context.Context, layer string, zvols map[string]string) {
	switch layer {
	case "partition":
		if parent := parentOf(d.real, d.name); parent != "" {
			d.thing.Link("on", stack.Ref{Kind: "block", Name: parent})
			return
		}
		d.slaves(ctx, true)
	case "lvm", "crypt", "multipath", "dm", "md", "bcache":
		d.slaves(ctx, true)
	case "drbd":
		d.obs.Gap(d.thing.Ref, "the devices below a DRBD device are not read", "", "on", "disks")
	default:
		d.slaves(ctx, false)
	}
	switch layer {
	case "lvm", "crypt", "multipath", "dm":
		d.group(ctx, d.dir+"/", "dm/")
	case "md":
		d.group(ctx, d.dir+"/", "md/")
	case "bcache":
		d.group(ctx, d.dir+"/", "bcache/")
	case "loop":
		d.loop(ctx)
	case "zvol":
		if ds := zvols[d.name]; ds != "" {
			d.thing.Link("dataset", stack.Ref{Kind: "dataset", Name: ds})
		} else {
			d.obs.Gap(d.thing.Ref, "no link in /dev/zvol leads to /dev/"+d.name, "", "dataset", "disks")
		}
		return
	}
	d.thing.Link("dataset")
}

// parentOf tells the disk of a partition from where its sysfs link leads:
// …/block/vda/vda1.
func parentOf(real, name string) string {
	dir, last := path.Split(path.Clean(real))
	if real == "" || last != name {
		return ""
	}
	parent := path.Base(dir)
	if parent == "block" || parent == "." || parent == "/" {
		return ""
	}
	return parent
}

// slaves links to the devices below. wanted says that there must be some.
func (d *device) slaves(ctx context.Context, wanted bool) {
	below, err := d.h.Glob(ctx, d.dir+"/slaves/*")
	if err != nil || wanted && len(below) == 0 {
		d.obs.Gap(d.thing.Ref, "nothing listed in "+d.dir+"/slaves", "", "on", "disks")
		return
	}
	refs := make([]stack.Ref, len(below))
	for i, b := range below {
		refs[i] = stack.Ref{Kind: "block", Name: path.Base(b)}
	}
	d.thing.Link("on", refs...)
}

func (d *device) loop(ctx context.Context) {
	d.set(ctx, "loop_dio", "loop/dio")
	file, ok := d.text(ctx, "loop/backing_file")
	if !ok {
		return
	}
	if strings.HasSuffix(file, " (deleted)") {
		d.obs.Gap(d.thing.Ref, "the file behind the device was deleted: "+file, "", "backing", "disks")
		return
	}
	d.thing.Set("loop_file", stack.Text(file), d.dir+"/loop/backing_file")
}
