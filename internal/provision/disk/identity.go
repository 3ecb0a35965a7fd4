package disk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"path"
	"strconv"
	"strings"
	"unicode"
)

func (l *look) number(parts ...string) int64 {
	n, err := strconv.ParseInt(l.sys(parts...), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// size reads the sizes of the disk, of its sectors and of an array's parts.
func (l *look) size() {
	l.d.Size = l.number(l.d.Name, "size") * 512 // the kernel counts in 512 bytes, whatever a sector is
	queue := l.whole() + "/queue"
	l.d.Logical = l.number(queue, "logical_block_size")
	l.d.Physical = l.number(queue, "physical_block_size")
	least, best := l.number(queue, "minimum_io_size"), l.number(queue, "optimal_io_size")
	if least > max(l.d.Physical, 4096) && best > least && best%least == 0 {
		l.d.Chunk, l.d.Stripe = least, best
	}
}

// LeastShift is 4 KiB: a disk says 512 bytes and means it seldom, and the one that replaces it may not.
const LeastShift = 12

// mostShift is 16 KiB, and where OpenZFS itself stops (zfs_vdev_max_auto_ashift): what a disk calls its physical sector may be what it
// likes to be written at once, and of each smaller record the rest of a sector would be lost.
const mostShift = 14

// Shift is the ashift that suits the disk, on which no sector may be smaller than its logical one.
func (d Disk) Shift() int {
	of := func(sector int64) int { return bits.Len64(uint64(max(sector, 1) - 1)) }
	return max(LeastShift, of(d.Logical), min(of(d.Physical), mostShift))
}

// serials are where kernels keep what a device says of itself, below its own directory.
var serials = []string{"device/vpd_pg80", "device/serial", "serial", "dm/uuid", "md/uuid", "wwid", "device/wwid"}

// serial reads what the disk says of itself. Of the files that are there the first
// that says something counts, and is what the disk is known by at apply.
func (l *look) serial() {
	for _, file := range serials {
		of := path.Join(l.whole(), file)
		text, err := l.h.ReadFile(l.ctx, "/sys/class/block/"+of)
		if err != nil {
			continue
		}
		if serial := serialIn(path.Base(file), text); serial != "" {
			l.d.Serial, l.d.Identity, l.d.Digest = serial, of, digest(text)
			return
		}
	}
	// Nothing tells it from another of its size: at least it must be plugged in still.
	of := path.Join(l.whole(), "diskseq")
	if text, err := l.h.ReadFile(l.ctx, "/sys/class/block/"+of); err == nil && len(text) > 0 {
		l.d.Identity, l.d.Digest = of, digest(text)
	}
}

// maker is what the maker of a disk says of it. Where two paths lead to one disk and nothing joins them, it is all that tells.
type maker struct {
	wwid, serial string
	size         int64
}

// same tells whether it is one disk. A serial number alone may be that of all volumes of an array, which differ in size at least.
func (a maker) same(b maker) bool {
	if a.wwid != "" && b.wwid != "" {
		return a.wwid == b.wwid
	}
	return a.serial != "" && a.serial == b.serial && a.size == b.size
}

// saysOf reads it of a whole disk. What is known by a UUID of this system's own, as a logical volume is, has no other path.
func (l *look) saysOf(name string) (m maker) {
	m.size = l.number(name, "size")
	for _, file := range serials {
		text, err := l.h.ReadFile(l.ctx, path.Join("/sys/class/block", name, file))
		if err != nil || path.Base(file) == "uuid" {
			continue
		}
		switch says := serialIn(path.Base(file), text); {
		case path.Base(file) != "wwid":
			m.serial = cmp.Or(m.serial, says)
		default:
			m.wwid = cmp.Or(m.wwid, says)
		}
	}
	return m
}

// Same tells whether two are one disk: by the same path, by another, or the one as a partition of the other.
func Same(a, b Disk) bool {
	switch {
	case a.File || b.File:
		return false
	case a.Number == b.Number, a.Whole != "" && a.Whole == b.Name, b.Whole != "" && b.Whole == a.Name:
		return true
	}
	return cmp.Or(a.Whole, a.Name) != cmp.Or(b.Whole, b.Name) && a.maker.same(b.maker)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// serialIn reads a serial number. The page 0x80 of SCSI has a header of four
// bytes: device type, page, and the length of what follows.
func serialIn(file string, text []byte) string {
	if file == "vpd_pg80" {
		if len(text) < 4 || text[1] != 0x80 {
			return ""
		}
		n := int(text[2])<<8 | int(text[3])
		text = text[4:min(4+n, len(text))]
	}
	s := strings.TrimFunc(string(text), func(c rune) bool { return c <= ' ' })
	if len(s) > 255 || strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return ""
	}
	return s
}
