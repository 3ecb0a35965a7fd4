package zfs

import (
	"regexp"
	"slices"
	"strings"
)

// vdev is one line of the configuration of a pool.
type vdev struct {
	Name     string // "mirror-0", or a path for a device or file
	State    string
	Errors   errorCounts // its own, as its line has them
	Children []*vdev
}

// errorCounts are errors since the counters were last cleared.
type errorCounts struct{ Read, Write, Checksum int64 }

// errors gives the errors of the vdev and all below it. A damaged block that
// no device can be blamed for is counted only further up, and an error that
// nothing could repair on every level: so each level tells at least as much as
// the sum of those below, and they are not added.
func (v *vdev) errors() errorCounts {
	below := sumErrors(v.Children)
	return errorCounts{max(v.Errors.Read, below.Read), max(v.Errors.Write, below.Write), max(v.Errors.Checksum, below.Checksum)}
}

func sumErrors(vdevs []*vdev) (sum errorCounts) {
	for _, v := range vdevs {
		e := v.errors()
		sum = errorCounts{sum.Read + e.Read, sum.Write + e.Write, sum.Checksum + e.Checksum}
	}
	return sum
}

// status is what `zpool status` tells of one pool, from either of its forms.
type status struct {
	Pool       string
	State      string
	Classes    map[string][]*vdev // top-level vdevs by class: "data", "logs", "cache", "special", "dedup", "spares"
	Root       *vdev              // the pool's own line, without its vdevs
	Scans      []scan             // in the order shown; none when the pool was never scanned
	ScanRead   bool               // what is said of scans was understood
	DataErrors int64              // known permanent errors; -1 when not known
}

// The classes of vdevs, as zpool status heads them; data has no heading.
const (
	classData    = "data"
	classLogs    = "logs"
	classCache   = "cache"
	classSpecial = "special"
	classDedup   = "dedup"
	classSpares  = "spares"
)

// kind tells mirror, raidz1..3, draid1..3, or device for a disk or file.
func (v *vdev) kind() string {
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
func (v *vdev) redundant() bool {
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

func allRedundant(tops []*vdev) bool {
	for _, v := range tops {
		if !v.redundant() {
			return false
		}
	}
	return len(tops) > 0
}

// layout names the arrangement of the data vdevs in one word.
func layout(tops []*vdev) string {
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

// leaves gives the devices and files of some vdevs, in order.
func leaves(tops []*vdev) []*vdev {
	var out []*vdev
	for _, v := range tops {
		if len(v.Children) == 0 {
			if k := v.kind(); k != "indirect" && k != "hole" {
				out = append(out, v)
			}
			continue
		}
		out = append(out, leaves(v.Children)...)
	}
	return out
}

// distributedSpare is the name of a spare within a dRAID vdev: draid2-0-1. It
// is space on all of its devices and no device of its own.
var distributedSpare = regexp.MustCompile(`^draid[1-3]-\d+-\d+$`)

// paths gives the device paths of some vdevs, sorted. zfs-fuse prints a disk
// without its directory.
func paths(tops []*vdev) []string {
	var out []string
	for _, v := range leaves(tops) {
		name := v.Name
		if distributedSpare.MatchString(name) {
			continue
		}
		if !strings.HasPrefix(name, "/") {
			name = "/dev/" + name
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
