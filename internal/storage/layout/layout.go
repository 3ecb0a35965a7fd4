// Package layout makes pools, filesystems and datasets out of bare disks, for package provision. It
// only reads: what it gives is acts of package change, each of which proves once more that a disk is
// empty before it writes, and is taken back only while nothing is in what it made. It never forces.
package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision"
	running "plumb/internal/storage/zfs"
	"plumb/internal/zfs"
)

// Layout implements provision.Storage.
type Layout struct {
	Fstab string // the file in which mounts last: /etc/fstab
}

var _ provision.Storage = Layout{}

// New gives the layout of this machine.
func New() Layout { return Layout{Fstab: "/etc/fstab"} }

// script is an operation in the words of a shell. Its arguments are data, and never part of it.
func script(text string, args ...string) change.Op {
	return change.Op{Argv: append([]string{"sh", "-ec", text, "sh"}, args...)}
}

// tools tells which ZFS is here, and its version.
type tools struct {
	zfs.Tools
	version string // of OpenZFS; "": not known
}

// zfsHere asks for ZFS. A module that is not loaded yet is no reason to refuse: its tools load it.
func zfsHere(ctx context.Context, h host.Reader) (tools, error) {
	text, err := h.Output(ctx, zfs.Version()...)
	if errors.Is(err, host.ErrNoCommand) {
		return tools{}, change.Refuse("install zfsutils-linux; plumb provision does that in its first stage", "ZFS is not installed")
	}
	if v := zfs.ParseVersion(text); v != "" {
		return tools{version: v}, nil
	}
	fuse, err := running.Fuse(ctx, h)
	if err == nil && !fuse {
		err = change.Refuse("check the output of zfs version", "zfs does not report its version, and no zfs-fuse runs that mounts here")
	}
	return tools{Tools: zfs.Tools{Fuse: fuse}}, err
}

// place is what stands at a mount point before anything is made.
type place struct {
	acts []change.Act // that make the directory
	note string
}

// mountPoint makes a directory that nobody can write to: should what is to be mounted there be missing one
// day, no server starts on an empty directory.
func mountPoint(ctx context.Context, h host.Reader, at string) (p place, err error) {
	above := path.Dir(at)
	for ; ; above = path.Dir(above) {
		err := change.RootsAlone(ctx, h, above)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || above == "/" {
			return p, err
		}
		p.acts = append([]change.Act{directory(above, 0o755)}, p.acts...)
	}
	var guard []change.Act
	if _, err := h.Output(ctx, "lsattr", "-d", above); err == nil {
		guard = append(guard, immutable(at))
	} else {
		p.note = fmt.Sprintf("the filesystem of %s knows no immutable directories: %s can be written to by root while nothing is mounted there", above, at)
	}
	err = provision.Bare(ctx, h, at)
	if errors.Is(err, fs.ErrNotExist) {
		p.acts = append(append(p.acts, directory(at, 0)), guard...)
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.acts = append(p.acts, guard...)
	return p, nil
}

func directory(at string, perm fs.FileMode) change.Act {
	return change.Act{Make: &change.Make{Thing: change.Thing{Path: at}, Directory: &change.Dir{Perm: perm, UID: -1, GID: -1}}}
}

// immutable takes from everybody, root too, the right to write to a directory. It is an act of its own: it must
// be taken back also where somebody has unmounted by hand what lay on it.
func immutable(at string) change.Act {
	return change.Act{Switch: &change.Switch{
		On: "the immutable directory " + at, After: "i", Exact: true,
		Inspect: change.Inspection{Bare: at, Argv: []string{"lsattr", "-d", at}, Match: `^[^ ]*(i)[^ ]* .*$`},
		Do:      []change.Op{{Argv: []string{"chattr", "+i", at}}},
		Undo:    []change.Op{{Argv: []string{"chattr", "-i", at}}},
	}}
}

// notes lists what is not empty.
func notes(all ...string) (out []string) {
	for _, n := range all {
		if n != "" {
			out = append(out, n)
		}
	}
	return out
}
