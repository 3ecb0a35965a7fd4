package zfs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Vdev is one line of the configuration of a pool.
type Vdev struct {
	Name     string // "mirror-0", or a path for a device or file
	State    string
	Errors   ErrorCounts // its own, as its line has them
	Children []*Vdev
}

// ErrorCounts are errors since the counters were last cleared.
type ErrorCounts struct{ Read, Write, Checksum int64 }

// AllErrors gives the errors of the vdev and all below it. A damaged block that
// no device can be blamed for is counted only further up, and an error that
// nothing could repair on every level: so each level tells at least as much as
// the sum of those below, and they are not added.
func (v *Vdev) AllErrors() ErrorCounts {
	below := sumErrors(v.Children)
	return ErrorCounts{max(v.Errors.Read, below.Read), max(v.Errors.Write, below.Write), max(v.Errors.Checksum, below.Checksum)}
}

func sumErrors(vdevs []*Vdev) (sum ErrorCounts) {
	for _, v := range vdevs {
		e := v.AllErrors()
		sum = ErrorCounts{sum.Read + e.Read, sum.Write + e.Write, sum.Checksum + e.Checksum}
	}
	return sum
}

// Status is what `zpool status` tells of one pool, from either of its forms.
type Status struct {
	Pool       string
	State      string
	Classes    map[string][]*Vdev // top-level vdevs by class: "data", "logs", "cache", "special", "dedup", "spares"
	Root       *Vdev              // the pool's own line, without its vdevs
	Scans      []Scan             // in the order shown; none when the pool was never scanned
	ScanRead   bool               // what is said of scans was understood
	Unread     int                // vdevs whose place in the tree was not understood
	DataErrors int64              // known permanent errors; -1 when not known
}

// Classes of vdevs, as zpool status heads them; data has no heading.
const (
	ClassData    = "data"
	ClassLogs    = "logs"
	ClassCache   = "cache"
	ClassSpecial = "special"
	ClassDedup   = "dedup"
	ClassSpares  = "spares"
)

// kind tells mirror, raidz1..3, draid1..3, or device for a disk or file.
func (v *Vdev) kind() string {
	for _, kind := range []string{"mirror", "raidz2", "raidz3", "raidz", "draid2", "draid3", "draid", "replacing", "spare", "indirect", "hole"} {
		rest, ok := strings.CutPrefix(v.Name, kind)
		if !ok || len(v.Children) == 0 && kind != "indirect" && kind != "hole" {
			continue
		}
		if kind == "raidz" || kind == "draid" {
			return kind + "1"
		}
		if rest == "" || rest[0] == '-' || rest[0] == ':' {
			return kind
		}
	}
	return "device"
}

// redundant reports whether the vdev survives the loss of one of its devices.
func (v *Vdev) redundant() bool {
	switch k := v.kind(); k {
	case "mirror":
		return len(v.Children) > 1
	case "device", "replacing", "spare":
		return false
	case "indirect", "hole":
		return true // holds no data of its own
	default:
		return strings.HasPrefix(k, "raidz") || strings.HasPrefix(k, "draid")
	}
}

// AllRedundant reports whether there are vdevs and each survives the loss of a device.
func AllRedundant(tops []*Vdev) bool {
	for _, v := range tops {
		if !v.redundant() {
			return false
		}
	}
	return len(tops) > 0
}

// Layout names the arrangement of the data vdevs in one word.
func Layout(tops []*Vdev) string {
	var kinds []string
	for _, v := range tops {
		k := v.kind()
		if k == "indirect" || k == "hole" {
			continue // what a removed vdev leaves behind
		}
		if k == "replacing" || k == "spare" {
			k = "device"
		}
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return ""
	}
	first := kinds[0]
	if slices.ContainsFunc(kinds, func(k string) bool { return k != first }) {
		return "mixed"
	}
	switch {
	case first == "device" && len(kinds) == 1:
		return "single"
	case first == "device":
		return "stripe"
	case strings.HasPrefix(first, "draid"):
		return "draid"
	}
	return first
}

// Leaves gives the devices and files of some vdevs, in order.
func Leaves(tops []*Vdev) []*Vdev {
	var out []*Vdev
	for _, v := range tops {
		if len(v.Children) == 0 {
			if k := v.kind(); k != "indirect" && k != "hole" {
				out = append(out, v)
			}
			continue
		}
		out = append(out, Leaves(v.Children)...)
	}
	return out
}

// distributedSpare is the name of a spare within a dRAID vdev: draid2-0-1. It
// is space on all of its devices and no device of its own.
var distributedSpare = regexp.MustCompile(`^draid[1-3]-\d+-\d+$`)

// Paths gives the device paths of some vdevs, those of a group together, as the
// pool has them. zfs-fuse prints a disk without its directory.
func Paths(tops []*Vdev) []string {
	var out []string
	for _, v := range Leaves(tops) {
		name := v.Name
		if distributedSpare.MatchString(name) {
			continue
		}
		if !strings.HasPrefix(name, "/") {
			name = "/dev/" + name
		}
		out = append(out, name)
	}
	return out
}

// Devices gives every device and file that a pool uses, spares included, as
// the status names them: whole paths, but for the disks of zfs-fuse. A removal
// relies on it, so a line that was not understood is an error.
func (st Status) Devices() (all []string, err error) {
	for _, class := range slices.Sorted(maps.Keys(st.Classes)) {
		for _, v := range Leaves(st.Classes[class]) {
			all = append(all, v.Name)
		}
	}
	if st.Unread > 0 || len(all) == 0 {
		return nil, fmt.Errorf("zpool status does not tell on what the pool %s lies", st.Pool)
	}
	return all, nil
}
