package layout

import (
	"fmt"
	"strconv"

	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/units"
)

// block is that of ext4, in bytes: the largest that its mounts take.
const block = 4096

// alignment is how a filesystem is laid onto an array.
type alignment struct {
	flags []string
	made  map[string]string
	note  string
}

// align takes what the array tells, or else what the spec says of it.
func align(d disk.Disk, f spec.Filesystem) alignment {
	a := alignment{made: map[string]string{"sector": strconv.FormatInt(max(d.Physical, d.Logical), 10)}}
	chunk, width := d.Chunk, 0
	if chunk > 0 {
		width = int(d.Stripe / chunk)
	}
	switch {
	case f.Type == "btrfs":
		return a
	case chunk > 0 && f.Chunk > 0 && (f.Chunk != chunk || f.Width != width):
		a.note = fmt.Sprintf("%s reports chunks of %s on %d disks, but the spec has %s on %d: the spec is used", d.Spec.Path, units.Bytes(chunk), width, units.Bytes(f.Chunk), f.Width)
	}
	if f.Chunk > 0 {
		chunk, width = f.Chunk, f.Width
	}
	if chunk < block || width < 1 {
		return a
	}
	a.made["chunk"], a.made["width"] = strconv.FormatInt(chunk, 10), strconv.Itoa(width)
	if f.Type == "xfs" {
		a.flags = []string{"-d", fmt.Sprintf("su=%d,sw=%d", chunk, width)}
		return a
	}
	a.flags = []string{"-E", fmt.Sprintf("stride=%d,stripe_width=%d", chunk/block, chunk/block*int64(width))}
	return a
}
