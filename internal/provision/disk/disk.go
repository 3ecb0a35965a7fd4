// Package disk proves that a disk may be used: that it is the one that is meant, that nobody uses
// it, and that nothing is on it. It only reads, and never with blkid or wipefs, which open a disk
// for writing or believe a cache. What cannot be read is a reason to refuse.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
)

// Edge is how much of either end of a disk is read, and must be zero, in bytes. Of the end of a disk with large sectors it is more.
const Edge = 16 << 20

// reserved is more than what lies behind the partition that ZFS makes on a disk that it is given whole, with the labels at its end, in
// sectors: 16384 that are reserved, up to 2047 so that the partition is a multiple of 2048, and the second GPT. Releases up to 2.4 count
// them so whatever a sector is (zpool_label_disk): of 4 KiB, the labels are up to 73 MiB before the end.
const reserved = 20480

// ends gives how much of the head and of the tail of a disk must be zero. Of one that does not tell its sectors the largest are taken.
func (d Disk) ends() (head, tail int64) {
	sector := d.Logical
	if sector == 0 {
		sector = 4096
	}
	return min(Edge, d.Size), min(max(Edge, reserved*sector), d.Size)
}

// Disk is what was read of one disk.
type Disk struct {
	Spec spec.Disk
	File bool   // for trials: it is made, and not there yet
	Node string // /dev/sdb, to which the path leads
	Name string // sdb, as the kernel calls it
	// Whole names the disk of which it is a partition; "": it is none.
	Whole string
	// Number is the kernel's for the device: 8:16.
	Number string
	// Serial is what the disk says of itself; of a logical volume the UUID; "": it does not.
	Serial string
	// Identity is where below /sys/class/block its identity is read, and Digest the SHA-256 of it in hex:
	// the serial number, or else the number of the kernel's for this attachment.
	Identity, Digest string
	Size             int64 // bytes
	Logical          int64 // bytes of a sector; 0: it does not tell
	Physical         int64 // bytes that are written at once; 0: it does not tell
	Chunk, Stripe    int64 // bytes: optimal I/O of an array, of one disk and of all; 0: it does not tell
	Users            []string
	On               []string // what is on it, in words; none: it is proven to be empty
	Read             int64    // bytes that were read to see that
	Missing          string   // of a proof that could not be made: why
	maker            maker
}

// Look reads a disk and all that is on it.
func Look(ctx context.Context, h host.Reader, d spec.Disk) (Disk, error) {
	l := &look{ctx: ctx, h: h, d: Disk{Spec: d}}
	if d.IsFile() {
		return l.file()
	}
	st, err := h.Stat(ctx, d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return l.d, &change.Refusal{Why: d.Path + " is not there", What: "ls -l /dev/disk/by-id lists the disks of this machine"}
	}
	if err != nil {
		return l.d, fmt.Errorf("look at %s: %w", d.Path, err)
	}
	if st.Mode&fs.ModeDevice == 0 || st.Mode&fs.ModeCharDevice != 0 {
		return l.d, &change.Refusal{Why: d.Path + " is not a disk", What: "name a block device; of a file the path does not begin with /dev"}
	}
	l.d.Number = fmt.Sprintf("%d:%d", st.RdevMajor, st.RdevMinor)
	l.d.Node = st.Resolved
	if err := l.names(); err != nil {
		return l.d, err
	}
	l.size()
	l.serial()
	l.d.maker = l.saysOf(l.whole())
	if err := l.users(); err != nil {
		return l.d, fmt.Errorf("look who uses %s: %w", d.Path, err)
	}
	if err := l.content(); err != nil {
		return l.d, fmt.Errorf("read %s: %w", d.Path, err)
	}
	return l.d, nil
}

// look is one look at one disk.
type look struct {
	ctx context.Context
	h   host.Reader
	d   Disk
}

// file looks at the place of a file that will be made.
func (l *look) file() (Disk, error) {
	d := l.d.Spec
	l.d.File, l.d.Size, l.d.Node = true, d.Size, d.Path
	dir := path.Dir(d.Path)
	if st, err := l.h.Stat(l.ctx, dir); err != nil || !st.Mode.IsDir() || st.Resolved != dir {
		return l.d, &change.Refusal{Why: dir + " is not a directory, or is a link", What: "make it: mkdir -p " + dir}
	}
	names, err := l.h.Glob(l.ctx, d.Path)
	if err != nil {
		return l.d, err
	}
	if len(names) > 0 {
		return l.d, &change.Refusal{Why: d.Path + " already exists, and a file for a trial must be new", What: "name a file that does not exist, or remove it"}
	}
	fsOf, err := l.h.Statfs(l.ctx, dir)
	if err == nil && int64(fsOf.AvailBytes) < d.Size {
		return l.d, &change.Refusal{Why: fmt.Sprintf("%s has %d bytes free, but %s needs %d", dir, fsOf.AvailBytes, d.Path, d.Size), What: "make it smaller, or put it elsewhere"}
	}
	return l.d, err
}

// sys reads a line of the kernel's about a device; "" when it does not tell.
func (l *look) sys(parts ...string) string {
	text, err := l.h.ReadFile(l.ctx, path.Join(append([]string{"/sys/class/block"}, parts...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// names finds what the kernel calls the device, from its number: the path may be any link.
func (l *look) names() error {
	to, err := l.h.Readlink(l.ctx, "/sys/dev/block/"+l.d.Number)
	if err != nil {
		return fmt.Errorf("look for %s, device %s: %w", l.d.Spec.Path, l.d.Number, err)
	}
	l.d.Name = path.Base(to)
	if l.sys(l.d.Name, "dev") != l.d.Number {
		return &change.Refusal{Why: l.d.Spec.Path + " changed while it was being checked", What: "try again when no disks are being added or removed"}
	}
	if l.sys(l.d.Name, "partition") != "" {
		l.d.Whole = path.Base(path.Dir(to))
	}
	return nil
}

// whole gives the name of the disk that has a queue and a serial number.
func (l *look) whole() string {
	if l.d.Whole != "" {
		return l.d.Whole
	}
	return l.d.Name
}

// Known names what a path leads to, so that two paths to one disk are seen to be the same: the
// kernel's name of the disk, of a partition that ZFS made itself too, and of a file its path.
func Known(ctx context.Context, h host.Reader, name string) (string, error) {
	if !path.IsAbs(name) {
		name = "/dev/" + name
	}
	st, err := h.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return name, nil // gone: it is shown as it was called
	}
	if err != nil || st.Mode&fs.ModeDevice == 0 {
		return name, err
	}
	l := &look{ctx: ctx, h: h, d: Disk{Spec: spec.Disk{Path: name}, Number: fmt.Sprintf("%d:%d", st.RdevMajor, st.RdevMinor)}}
	if err := l.names(); err != nil {
		return "", err
	}
	if l.d.Whole != "" && l.sys(l.d.Name, "partition") == "1" && l.sys(l.d.Whole, l.d.Whole+"9", "partition")+l.sys(l.d.Whole, l.d.Whole+"p9", "partition") == "9" {
		return l.d.Whole, nil
	}
	return l.d.Name, nil
}
