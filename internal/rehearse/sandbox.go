package rehearse

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// program finds out which program the lab has to find: the same version, from
// where the server's own was started when that is no usual place.
func (d *draft) program() {
	d.version = versionOf(d.server.Text("version"))
	all, _ := d.stack.Follow(d.server, "process")
	if len(all) != 1 {
		return
	}
	process := all[0]
	deleted, _ := process.Bool("exe_deleted")
	contained, _ := process.Bool("own_root")
	if deleted || contained {
		why := "runs in a container"
		if deleted {
			why = "was updated on disk since it was started"
		}
		d.version = series(d.engine, d.version)
		d.say("The server %s: the sandbox uses the newest %s %s installed on this host.", why, labelOf(d.engine), d.version)
		return
	}
	if exe := path.Clean(process.Text("exe")); path.IsAbs(exe) && !usualPlace(exe) {
		if dir := path.Dir(exe); slices.Contains([]string{"bin", "sbin", "libexec"}, path.Base(dir)) && path.Dir(dir) != "/" && oneLine(dir) {
			d.basedir = path.Dir(dir)
		}
	}
}

// numbers are what the lab reads of a version.
var numbers = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}`)

func versionOf(text string) string { return numbers.FindString(text) }

// series is the part of a version within which data and defaults stay the
// same: 10.11, 8.4, and of PostgreSQL 17.
func series(engine, version string) string {
	parts := strings.Split(version, ".")
	n := kindOf(experiment.KindOf(engine)).series(parts)
	return strings.Join(parts[:min(n, len(parts))], ".")
}

// usualPlace tells whether the lab looks for programs where this one is.
func usualPlace(exe string) bool {
	dir := path.Dir(exe)
	for _, s := range product.Servers() {
		for _, p := range s.Places {
			for _, below := range p.Dirs {
				if ok, err := path.Match(path.Join(p.Base, below), dir); ok && err == nil {
					return true
				}
			}
		}
	}
	return false
}

// lay decides what the sandbox's data lie on.
func (d *draft) lay() (err error) {
	w := d.want
	switch {
	case w.Like != nil:
		d.volume, d.site.Dir = w.Like.Volume, w.Dir
		d.on = "a directory"
		if w.Like.Volume.Filesystem != "" {
			d.on = w.Like.Volume.Filesystem + " limited to " + w.Like.Volume.Profile
		}
		d.say("There is no live server: it is one with the defaults of its distribution, looked at after a load like the one it is tried with.")
		return nil
	case w.Volume != "":
		return d.own()
	case w.Dir != "":
		d.volume, d.on, d.site.Dir = experiment.Volume{Kind: experiment.Directory}, "below "+w.Dir, w.Dir
		d.say("The sandbox is below %s, whatever the server's own data are on.", w.Dir)
		return nil
	}
	if d.site, err = findPlace(d.stack, d.server.Ref); err != nil {
		return err
	}
	d.remarks = append(d.remarks, d.site.Says...)
	d.volume = experiment.Volume{Kind: d.site.Kind, Parent: d.site.Parent, Properties: d.site.Properties}
	d.on = "its own filesystem"
	if f := d.stack.Find(d.site.Filesystem); f != nil {
		d.on = cmp.Or(f.Text("fstype"), d.on)
	}
	if d.site.Kind == experiment.Dataset {
		d.on = "ZFS"
	}
	return nil
}

// own makes the sandbox a volume of its own with the limits that were asked
// for, and the filesystem that the server's data have, where a loop device can
// have it.
func (d *draft) own() error {
	if _, err := experiment.ParseProfile(d.want.Volume); err != nil {
		return hint.With(fmt.Errorf("a volume for the sandbox: %w", err), "gp3, or limits such as iops=3000,mbps=125")
	}
	d.volume = experiment.Volume{Kind: experiment.Loop, Filesystem: "ext4", Profile: d.want.Volume}
	d.site.Dir = d.want.Dir
	on := linked(d.stack, d.server, "data")
	switch dataset := datasetOf(d.stack, on); {
	case dataset != nil:
		d.volume.Kind, d.volume.Filesystem, d.volume.Properties = experiment.Zpool, "", propertiesOf(dataset)
		d.on = "ZFS"
		d.say("The sandbox is a ZFS pool of its own on one loop device, with the properties that %s has and the limits of %s.", dataset.Ref.Name, d.want.Volume)
	case on != nil && slices.Contains(experiment.Filesystems(), on.Text("fstype")):
		d.volume.Filesystem = on.Text("fstype")
		d.on = d.volume.Filesystem
		d.say("The sandbox is a volume of its own with the limits of %s, on a loop device with %s, as the server's data are on.", d.want.Volume, d.on)
	default:
		d.on = d.volume.Filesystem
		d.say("The sandbox is a volume of its own with the limits of %s, on a loop device with ext4.", d.want.Volume)
	}
	d.on += " limited to " + d.want.Volume
	return nil
}

// datasetOfData is the dataset whose properties the sandbox has; nil when it
// is not on ZFS.
func (d *draft) datasetOfData() *stack.Thing {
	if d.volume.Kind != experiment.Dataset && d.volume.Kind != experiment.Zpool {
		return nil
	}
	return datasetOf(d.stack, linked(d.stack, d.server, "data"))
}
