package disk

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/units"
)

// sizeTolerance is the part by which a disk may differ from the size that was asked for.
const sizeTolerance = 0.01

// Refuse says why a disk may not be used; nil when it may. What is in use is
// refused whatever the spec allows.
func Refuse(d Disk) error {
	if d.File {
		return nil
	}
	path, s := d.Spec.Path, d.Spec
	off := float64(d.Size - s.Size)
	switch {
	case len(d.Users) > 0:
		return change.Refuse("take it out of use first; a disk in use is not erased, whatever the spec says", "%s is in use: %s", path, strings.Join(d.Users, ", "))
	case strings.HasPrefix(d.Name, "ram") || strings.HasPrefix(d.Name, "zram"):
		return change.Refuse("name a disk; to speed up a load, plumb boost DATASET does it safely for the pool", "%s is in memory: its contents are gone after a reboot", path)
	case s.Serial != "" && d.Serial == "":
		return change.Refuse("leave serial out, and make sure yourself that it is the right disk", "%s does not report a serial number, but the spec names %s", path, s.Serial)
	case s.Serial != "" && s.Serial != d.Serial:
		return change.Refuse("check which disk it is: ls -l /dev/disk/by-id", "%s has the serial number %s, but the spec names %s", path, d.Serial, s.Serial)
	case s.Size != 0 && (off > sizeTolerance*float64(s.Size) || off < -sizeTolerance*float64(s.Size)):
		return change.Refuse("check which disk it is; the size in a spec may differ by 1 %", "%s has %s (%d bytes), but the spec says %s (%d bytes)", path, units.Bytes(d.Size), d.Size, units.Bytes(s.Size), s.Size)
	case d.Identity == "":
		return change.Refuse("use a disk that reports its serial number", "%s has nothing by which it can be recognised: no serial number, and the kernel (before 5.15) does not number its disks", path)
	case len(d.On) > 0 && (s.Erase == "" || s.Erase != d.Serial):
		return change.Refuse(eraseHint(d), "%s is not empty: %s", path, strings.Join(d.On, ", "))
	}
	return nil
}

func eraseHint(d Disk) string {
	if d.Serial == "" {
		return fmt.Sprintf("save what you need; then %s: it reports no serial number with which the spec could name it", byHand(d.Spec.Path, d.parts()))
	}
	first := "save what you need"
	if slices.ContainsFunc(d.On, func(on string) bool { return strings.HasSuffix(on, "labels of ZFS") }) {
		first = "check whether it belongs to a pool that is just not imported: zpool import; " + first
	}
	return fmt.Sprintf("%s; then {path: %s, erase: %s} in the spec overwrites it", first, d.Spec.Path, d.Serial)
}

// Erases tells whether the disk has something on it that will be lost.
func (d Disk) Erases() bool {
	return !d.File && len(d.On) > 0 && d.Spec.Erase != "" && d.Spec.Erase == d.Serial
}
