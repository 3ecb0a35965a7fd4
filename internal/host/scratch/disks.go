package scratch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host/paths"
	"plumb/internal/host/proc"
)

const (
	deepest  = 8       // devices on devices
	smallEnd = 4 << 20 // of files of /proc and /sys
)

func small(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, smallEnd))
}

// disksBelow finds the disks that a directory's writes end at. The doubt says
// why there may be others.
func disksBelow(dir, kind string) (disks []Disk, doubt string) {
	switch kind {
	case "tmpfs", "ramfs":
		return nil, "it is memory: there is no disk"
	case "zfs":
		return nil, "the disks of a ZFS pool are not looked up here"
	case "overlay", "nfs", "fuse":
		return nil, "which disk is below " + kind + " cannot be seen from here"
	}
	major, minor, err := deviceOf(dir)
	if err != nil {
		return nil, fmt.Sprintf("the disk below could not be found: %v", err)
	}
	node, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", major, minor))
	if err != nil {
		return nil, fmt.Sprintf("the disk below could not be found: %v", err)
	}
	disks = follow(node, nil, deepest)
	if kind == "btrfs" {
		doubt = "btrfs may be on further devices"
	}
	return disks, doubt
}

// follow goes from a device to what it hands on to.
func follow(node string, through []string, depth int) []Disk {
	if _, err := os.Stat(filepath.Join(node, "partition")); err == nil {
		through = append(slices.Clone(through), filepath.Base(node))
		node = filepath.Dir(node)
	}
	name := filepath.Base(node)
	if depth > 0 {
		if below := lower(node, append(slices.Clone(through), name), depth-1); len(below) > 0 {
			return below
		}
	}
	d := Disk{Name: name, Through: through, Model: attribute(node, "device/model"), WriteCache: attribute(node, "queue/write_cache")}
	d.Rotational = attribute(node, "queue/rotational") == "1"
	d.Virtual = virtual(name, d.Model)
	return []Disk{d}
}

// lower gives the disks below a loop device, a RAID or a mapped volume.
func lower(node string, through []string, depth int) (disks []Disk) {
	if file := attribute(node, "loop/backing_file"); file != "" {
		major, minor, err := deviceOf(file)
		if err != nil {
			return nil
		}
		next, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", major, minor))
		if err != nil {
			return nil
		}
		return follow(next, through, depth)
	}
	slaves, err := filepath.Glob(filepath.Join(node, "slaves", "*"))
	if err != nil {
		return nil
	}
	for _, s := range slaves {
		if next, err := filepath.EvalSymlinks(s); err == nil {
			disks = append(disks, follow(next, through, depth)...)
		}
	}
	return disks
}

func attribute(node, name string) string {
	data, err := small(filepath.Join(node, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func virtual(name, model string) bool {
	for _, p := range []string{"vd", "xvd", "loop", "zram", "nbd", "rbd", "ram"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, m := range []string{"QEMU", "Virtual", "VMware", "VBOX", "Elastic Block Store", "PersistentDisk"} {
		if strings.Contains(model, m) {
			return true
		}
	}
	return false
}

// Count reads what a disk did since boot.
func (d Disk) Count() (proc.Disk, error) {
	data, err := small("/proc/diskstats")
	if err != nil {
		return proc.Disk{}, fmt.Errorf("count the requests of %s: %w", d.Name, err)
	}
	c, ok := proc.Diskstats(data)[d.Name]
	if !ok {
		return proc.Disk{}, fmt.Errorf("count the requests of %s: it is not in /proc/diskstats", d.Name)
	}
	return c, nil
}

// parseMountSource finds in /proc/self/mountinfo what the filesystem that a
// path is on was mounted from; "" when it is not there.
func parseMountSource(data []byte, path string) (source string) {
	longest := -1
	for line := range bytes.Lines(data) {
		head, tail, found := strings.Cut(string(line), " - ")
		f, t := strings.Fields(head), strings.Fields(tail)
		if !found || len(f) < 5 || len(t) < 2 {
			continue
		}
		point := edit.Unoctal(f[4])
		if paths.Within(path, point) && len(point) >= longest { // the last one mounted covers earlier ones
			longest, source = len(point), edit.Unoctal(t[1])
		}
	}
	return source
}
