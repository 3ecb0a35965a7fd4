package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// markProperty is how a pool is known that was made just before a crash.
const markProperty = "org.plumb:act"

// Pool implements provision.Storage.
func (l Layout) Pool(ctx context.Context, h host.Reader, p spec.Pool, b provision.Birth) (provision.Making, error) {
	t, err := zfsHere(ctx, h)
	if err != nil {
		return provision.Making{}, err
	}
	if there, err := poolThere(ctx, h, p.Name); err != nil || there {
		if err == nil {
			err = sameDisks(ctx, h, t, p)
		}
		if err == nil && p.Key != "" {
			err = encrypted(ctx, h, p)
		}
		return provision.Making{}, err
	}
	if t.Fuse && len(p.Special) > 0 {
		return provision.Making{}, change.Refuse("leave special out", "zfs-fuse has no special vdevs")
	}
	m := &poolMaking{ctx: ctx, h: h, tools: t, pool: p}
	if err := m.look(); err != nil {
		return provision.Making{}, err
	}
	props, root, err := m.properties(b)
	if err != nil {
		return provision.Making{}, err
	}
	m.create(props, root)
	m.warn()
	if p.Key != "" {
		if err := m.keyAtStart(); err != nil {
			return provision.Making{}, err
		}
	}
	m.out.Lasting = append(m.out.Lasting, lasting(p)...)
	return m.out, nil
}

// Disks implements provision.Storage.
func (l Layout) Disks(ctx context.Context, h host.Reader, p spec.Pool) error {
	if _, err := h.Output(ctx, zfs.Version()...); !errors.Is(err, host.ErrNoCommand) {
		return nil // the pool may be there: who makes it looks
	}
	err := (&poolMaking{ctx: ctx, h: h, pool: p}).look()
	if err == nil && p.Key != "" {
		_, _, err = keyFormat(ctx, h, p.Key)
	}
	return err
}

func poolThere(ctx context.Context, h host.Reader, name string) (bool, error) {
	out, err := h.Output(ctx, zfs.Pools()...)
	if err != nil {
		return false, hint.With(fmt.Errorf("list the pools: %w", err), "see that zpool list answers: modprobe zfs loads OpenZFS; or start zfs-fuse")
	}
	return slices.Contains(zfs.Names(out), name), nil
}

// poolMaking gathers what makes a pool.
type poolMaking struct {
	ctx   context.Context
	h     host.Reader
	tools tools
	pool  spec.Pool
	shift int
	disks []disk.Disk
	out   provision.Making
}

// look proves that every disk may be used.
func (m *poolMaking) look() error {
	p := m.pool
	for _, s := range slices.Concat(p.Data, p.Special, p.Log, p.Cache) {
		d, err := disk.Look(m.ctx, m.h, s)
		if err == nil {
			err = disk.Refuse(d)
		}
		if err == nil && d.File {
			err = change.RootsAlone(m.ctx, m.h, path.Dir(s.Path))
		}
		if err != nil {
			return err
		}
		for _, other := range m.disks {
			if disk.Same(d, other) {
				return change.Refuse("name each disk once: where several paths lead to it, by its name in /dev/mapper", "%s and %s lead to one disk, %s", other.Spec.Path, s.Path, d.Name)
			}
		}
		m.disks = append(m.disks, d)
		m.shift = max(m.shift, d.Shift())
		m.out.Read = max(m.out.Read, d.Read)
		if d.Erases() {
			m.out.Lasting = append(m.out.Lasting, fmt.Sprintf("what is on %s (serial %s) is lost: %s", s.Path, d.Serial, strings.Join(d.On, ", ")))
		}
	}
	return m.alike()
}

// fuzz is by how much disks of one vdev may differ, in bytes: zpool create refuses more.
const fuzz = 16 << 20

// alike refuses groups of disks that differ in size: zpool would, and of the larger one the rest would lie idle. What is left after the
// redundancy is room.
func (m *poolMaking) alike() error {
	rest := m.disks
	take := func(n int) (group []disk.Disk) { group, rest = rest[:n], rest[n:]; return group }
	width := m.pool.Width
	switch {
	case m.pool.Layout == spec.Stripe:
		width = 1
	case width == 0:
		width = len(m.pool.Data)
	}
	var groups [][]disk.Disk
	for range len(m.pool.Data) / width {
		g := take(width)
		least := slices.MinFunc(g, func(a, b disk.Disk) int { return cmp.Compare(a.Size, b.Size) })
		m.out.Room += least.Size * int64(width-m.pool.Survives())
		groups = append(groups, g)
	}
	groups = append(groups, take(len(m.pool.Special)), take(len(m.pool.Log)))
	for _, g := range groups {
		for _, d := range g {
			if off := d.Size - g[0].Size; off > fuzz || off < -fuzz {
				return change.Refuse("put disks of one size together, within 16M; plumb takes no partition of a larger one by itself", "%s has %s and %s has %s, but they are to form one vdev", g[0].Spec.Path, units.Bytes(g[0].Size), d.Spec.Path, units.Bytes(d.Size))
			}
			if d.File != g[0].File {
				return change.Refuse("make a vdev of files or of disks alone", "%s is a file and %s is a disk, or the other way round, but they are to form one vdev", g[0].Spec.Path, d.Spec.Path)
			}
		}
	}
	return nil
}

// warn says what a person should know of the devices beside the data.
func (m *poolMaking) warn() {
	say := func(of string, all ...string) {
		for _, what := range all {
			m.out.Notes = append(m.out.Notes, of+" of the pool: "+what)
		}
	}
	if len(m.pool.Special) > 0 {
		say("the special vdev", "it alone holds the metadata; when it is lost, the pool is")
	}
	if n := len(m.pool.Log); n > 0 {
		say("the log device", provision.OfLog(n == 1)...)
	}
	if len(m.pool.Cache) > 0 {
		say("the cache device", provision.OfCache)
	}
}

// properties gives those that the pool and its first dataset are made with.
func (m *poolMaking) properties(b provision.Birth) (pool, root map[string]string, err error) {
	pool, root = map[string]string{}, map[string]string{}
	maps.Copy(root, b.Root)
	root[markProperty] = "{mark}"
	root["canmount"] = "off"
	if !m.tools.Fuse {
		maps.Copy(pool, b.Pool)
		if set, err := compatibility(m.ctx, m.h, m.tools.version); err != nil || set != "" {
			if err != nil {
				return nil, nil, err
			}
			pool["compatibility"] = set
		}
	}
	pool["ashift"] = strconv.Itoa(m.shift)
	m.out.Made = maps.Clone(pool)
	if m.pool.Key != "" {
		if m.tools.Fuse {
			return nil, nil, change.Refuse("leave key out", "zfs-fuse has no encryption")
		}
		format, note, err := keyFormat(m.ctx, m.h, m.pool.Key)
		if err != nil {
			return nil, nil, err
		}
		root["encryption"], root["keyformat"], root["keylocation"] = "on", format, "file://"+m.pool.Key
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("the key of the pool is in %s: without it all data are lost, so keep a copy on another machine", m.pool.Key))
		m.out.Notes = append(m.out.Notes, notes(note)...)
	}
	return pool, root, nil
}

// compatibility gives the set of features of the release that runs: an older one of the same line, which a
// start may fall back to, still imports the pool. "": this release has no such sets.
func compatibility(ctx context.Context, h host.Reader, version string) (string, error) {
	if !zfs.AtLeast(version, 2, 1) {
		return "", nil
	}
	line := strings.Join(strings.Split(version, ".")[:2], ".")
	for _, set := range []string{"openzfs-" + line + "-linux", "openzfs-" + line} {
		found, err := h.Glob(ctx, "/usr/share/zfs/compatibility.d/"+set)
		if err != nil || len(found) > 0 {
			return set, err
		}
	}
	return "", nil
}

// create gives the acts: of each file that is made for a trial, and of the pool.
func (m *poolMaking) create(props, root map[string]string) {
	var first, absent, after []change.Op
	name := m.pool.Name
	for i, d := range m.disks {
		if i < len(m.pool.Data) { // those of the data come first, and without them there is no pool
			absent = append(absent, d.HasNoPool(name, "{kept}"))
		}
		if d.File {
			m.out.Acts = append(m.out.Acts, file(d, name))
			continue
		}
		first = append(first, d.Proof())
		after = append(after, d.BlankPool(name))
	}
	m.out.Acts = append(m.out.Acts, change.Act{Make: &change.Make{
		Thing:     change.Thing{Name: "the pool " + name, Inspect: &change.Inspection{Argv: zfs.Roots(markProperty), Match: "^" + regexp.QuoteMeta(name) + "\t(.*)$"}},
		Do:        append(first, script(unknownPool, name), change.Op{Argv: zfs.MakePool(zfs.NewPool{Name: name, Pool: props, Root: root, Vdevs: forCreate(vdevsOf(m.pool))})}),
		Unchanged: &change.Inspection{Argv: zfs.PoolGUIDs(), Match: "^" + regexp.QuoteMeta(name) + "\t([0-9]+)$"},
		Still:     &change.Still{Inspect: change.Inspection{Argv: zfs.Everything(name)}, State: name},
		Undo:      []change.Op{script(destroyPool, name)},
		Absent:    absent,
		Rest:      after,
	}})
}

// unknownPool refuses the name of a pool on disks that are here and not imported: after a start of the machine that one could be
// imported in the place of the new one.
const unknownPool = `! zpool import 2>/dev/null | sed -n 's/^ *pool: //p' | grep -qxF -e "$1" || { echo "there is another pool $1, which is not imported: zpool import shows it; choose another name, or import it" >&2; exit 1; }`

// file makes a file for a trial. A second name beside it bears the mark of the act, by which the file is known. What is removed is no
// part of a pool any more: an undo goes on to here also where the pool is kept.
func file(d disk.Disk, pool string) change.Act {
	dir, base := path.Split(d.Spec.Path)
	marked := dir + "." + base + ".plumb-{mark}"
	return change.Act{Make: &change.Make{
		Thing: change.Thing{Name: "the file " + d.Spec.Path, Inspect: &change.Inspection{Argv: []string{"find", path.Clean(dir), "-maxdepth", "1", "-name", "." + base + ".plumb-*", "-printf", "%f %i\\n"}}},
		Do:    []change.Op{script(`rm -f "$2"; (set -C; : >"$2"); chmod 600 "$2"; truncate -s "$3" "$2"; ln -T "$2" "$1"`, d.Spec.Path, marked, strconv.FormatInt(d.Size, 10))},
		Undo:  []change.Op{d.HasNoPool(pool, ""), script(kept+`[ ! -e "$1" ] || [ "$1" -ef "$2" ] || kept "$1" "is another file than was made"; rm -f "$1" "$2"`, d.Spec.Path, marked)},
	}}
}
