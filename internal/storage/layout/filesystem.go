package layout

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/mounts"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
)

// Filesystem implements provision.Storage.
func (l Layout) Filesystem(ctx context.Context, h host.Reader, f spec.Filesystem, at string, b provision.Birth) (out provision.Making, err error) {
	if there, err := mountedThere(ctx, h, f, at); err != nil || there {
		return out, err
	}
	d, err := disk.Look(ctx, h, f.Device)
	if err == nil {
		err = disk.Refuse(d)
	}
	if err != nil {
		return out, err
	}
	mkfsOf := "mkfs." + f.Type
	if found, err := firstOf(ctx, h, "/usr/sbin/"+mkfsOf, "/sbin/"+mkfsOf, "/usr/bin/"+mkfsOf, "/usr/local/sbin/"+mkfsOf); err != nil || found == "" {
		return out, errors.Join(err, change.Refuse("install e2fsprogs, xfsprogs or btrfs-progs", "%s is not installed", mkfsOf))
	}
	p, err := mountPoint(ctx, h, at)
	if err != nil {
		return out, err
	}
	uuid := newUUID()
	a := align(d, f)
	out = provision.Making{Acts: p.acts, Notes: notes(p.note, a.note), Made: a.made, Read: d.Read, Room: d.Size}
	out.Made["uuid"], out.Made["type"] = uuid, f.Type
	if d.Erases() {
		out.Lasting = append(out.Lasting, fmt.Sprintf("what is on %s (serial %s) is lost: %s", f.Device.Path, d.Serial, strings.Join(d.On, ", ")))
	}
	options := strings.Join(append([]string{"defaults", "nofail"}, b.Mount...), ",")
	lasting, err := l.lasts(ctx, h, f.Type, uuid, at, options)
	out.Acts = append(out.Acts, mkfs(d, f, uuid, at, a.flags), mount(f, uuid, at, strings.Join(append([]string{"rw"}, b.Mount...), ",")), lasting)
	return out, err
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// superblock is where a filesystem's UUID stands: the bytes that are read, and in them its magic.
type superblock struct {
	at, length, magic int
	word              string
}

var superblocks = map[string]superblock{
	"ext4":  {1024, 120, 56, "\x53\xef"},
	"xfs":   {0, 48, 0, "XFSB"},
	"btrfs": {65536, 72, 64, "_BHRfS_M"},
}

// uuidAt is where a filesystem has its UUID, from its superblock on.
func uuidAt(kind string) int { return int(mounts.UUIDAt[kind]) - superblocks[kind].at }

// identity reads the UUID from the device itself: the tools believe a cache, or want the filesystem mounted.
func identity(f spec.Filesystem, uuid string) (look change.Inspection, id string) {
	s := superblocks[f.Type]
	id = spaced(strings.ReplaceAll(uuid, "-", ""))
	magic := spaced(hex.EncodeToString([]byte(s.word)))
	skip := func(n int) string { return fmt.Sprintf(".{%d}", len(" 00")*n) }
	var match string
	if at := uuidAt(f.Type); s.magic < at {
		end := s.magic + len(s.word)
		match = skip(s.magic) + " " + magic + skip(at-end) + " (" + id + ")" + skip(s.length-at-16)
	} else {
		end := at + 16
		match = skip(at) + " (" + id + ")" + skip(s.magic-end) + " " + magic + skip(s.length-s.magic-len(s.word))
	}
	return change.Inspection{Match: "^" + match + "$", Argv: []string{"od", "-An", "-v", "-tx1", "-w128", "-j", strconv.Itoa(s.at), "-N", strconv.Itoa(s.length), f.Device.Path}}, id
}

// spaced puts a blank between the bytes of a hexadecimal text.
func spaced(text string) string {
	var out []string
	for i := 0; i+2 <= len(text); i += 2 {
		out = append(out, text[i:i+2])
	}
	return strings.Join(out, " ")
}

// mkfs makes the filesystem. Its UUID is given to it, and so it is known also when it was made just before a crash. It is told the
// disk by the kernel's name, which the proof has seen the path lead to: a link may lead elsewhere a moment later, as with two disks of
// one serial number, and mkfs.ext4 looks for what it overwrites only where a person types it.
func mkfs(d disk.Disk, f spec.Filesystem, uuid, at string, flags []string) change.Act {
	look, id := identity(f, uuid)
	argv := map[string][]string{"ext4": {"mkfs.ext4", "-q", "-b", "4096", "-U", uuid}, "xfs": {"mkfs.xfs", "-q", "-m", "uuid=" + uuid}, "btrfs": {"mkfs.btrfs", "-q", "-U", uuid}}[f.Type]
	return change.Act{Make: &change.Make{
		Thing:     change.Thing{Name: "the " + f.Type + " on " + f.Device.Path, Inspect: &look},
		Do:        []change.Op{d.Proof(), {Argv: append(append(argv, flags...), d.Node)}},
		Undo:      []change.Op{isEmpty(f.Device.Path, f.Type), d.Forget()},
		Absent:    []change.Op{d.IsUsed()},
		Rest:      []change.Op{d.BlankFilesystem(f.Type, uuid, mounts.UUIDAt[f.Type])},
		Unchanged: &look,
		Still:     stillEmpty(at),
		Moved:     &change.Moved{Identity: id, State: id},
	}}
}

// mount mounts it, on a directory that nobody can write to. Another filesystem, which the path may lead to by now, is not touched: to
// mount it would write to it, and another machine may have it mounted.
func mount(f spec.Filesystem, uuid, at, options string) change.Act {
	return change.Act{Switch: &change.Switch{
		On: "the mount of " + at, After: f.Type + " " + uuid, From: change.None, Either: true, Patience: 5000, Again: 15000,
		Inspect: change.Inspection{Mounted: at}, Still: stillEmpty(at),
		Do: []change.Op{script(`! mountpoint -q "$4" || exit 0
`+hidesNothing+`hides_nothing "$4"
node=$(readlink -f -- "$1")
[ "$(od -An -v -tx1 -j "$5" -N 16 -- "$node" | tr -d ' \n')" = "$6" ] || { echo "$1 leads to another filesystem than was made: nothing is mounted" >&2; exit 1; }
mount -t "$2" -o "$3" "$node" "$4"`, f.Device.Path, f.Type, options, at, strconv.FormatInt(mounts.UUIDAt[f.Type], 10), strings.ReplaceAll(uuid, "-", ""))},
		Undo: []change.Op{script(within+`if mountpoint -q "$1"; then
  in=$(within "$1")
  [ -z "$in" ] || { echo "$1 holds $in: it stays mounted" >&2; exit 1; }
  umount "$1"
fi`, at)},
	}}
}

// lasts enters the mount in fstab. A start does not wait for a disk that is missing: the machine can be reached
// then, and the server does not start on the empty directory.
func (l Layout) lasts(ctx context.Context, h host.Reader, kind, uuid, at, options string) (change.Act, error) {
	pass := "2"
	if kind != "ext4" { // xfs and btrfs are checked by being mounted
		pass = "0"
	}
	e := &change.Edit{File: l.Fstab, Form: edit.Mount, Key: at, Still: stillEmpty(at), Value: fmt.Sprintf("UUID=%s %s %s %s 0 %s", uuid, at, kind, options, pass)}
	reload, err := change.ReloadUnits(ctx, h) // systemd makes its mount units from fstab
	e.Apply = reload
	return change.Act{Edit: e}, err
}

// mountedThere tells whether the filesystem of the spec is mounted there already.
func mountedThere(ctx context.Context, h host.Reader, f spec.Filesystem, at string) (bool, error) {
	m, err := mounts.At(ctx, h, at)
	if err != nil || m == nil {
		return false, err
	}
	st, err := h.Stat(ctx, f.Device.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, change.Refuse("ls -l /dev/disk/by-id lists the disks", "%s is not there", f.Device.Path)
	}
	if err != nil {
		return false, err
	}
	is := m.Major == int(st.RdevMajor) && m.Minor == int(st.RdevMinor)
	if source, err := h.Stat(ctx, m.Source); err == nil && m.Major == 0 {
		is = source.RdevMajor == st.RdevMajor && source.RdevMinor == st.RdevMinor
	}
	if !is || m.FSType != f.Type {
		return false, change.Refuse("name another place", "%s of %s is already mounted at %s", m.FSType, m.Source, path.Clean(at))
	}
	return true, nil
}
