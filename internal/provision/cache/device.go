// Package cache gives pools of ZFS a cache device (L2ARC) or a separate log (SLOG), reads files
// once so that the cache holds them, judges whether it serves anything, and takes it away again.
//
// A device is added as an act of the journal, which proves just before that the disk is empty, and
// is removed only as what was added: by its path in the pool and what the disk says of itself.
package cache

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// Class is what a device does for a pool.
type Class string

// The classes, as zpool add takes them.
const (
	Reads Class = "cache"
	Log   Class = "log"
)

// words of a class, for people.
func (c Class) String() string {
	if c == Log {
		return "log device"
	}
	return "cache device"
}

// Addition is a device that a pool gets.
type Addition struct {
	Pool  string
	Class Class
	Disk  disk.Disk
	Acts  []change.Act // none: it is there already
	Notes []string
	Dead  bool // the pool has it, and it does not work: what an instance store is after a stop
}

// Place names a device of a pool, in journals and for people.
func Place(class Class, pool, device string) string {
	return fmt.Sprintf("%s %s of pool %s", class, device, pool)
}

// Add plans an addition, and says why the device may not be used.
func Add(ctx context.Context, h host.Reader, s *stack.Stack, pool string, class Class, d spec.Disk) (Addition, error) {
	a := Addition{Pool: pool, Class: class}
	p := s.Find(stack.Ref{Kind: "pool", Name: pool})
	if p == nil {
		return a, hint.With(fmt.Errorf("there is no pool %s on this host", pool), "zpool list shows them")
	}
	if d.IsFile() {
		return a, change.Refuse("name a device: ls -l /dev/disk/by-id", "%s is not a device, and a file is only as fast as the device that it is on", d.Path)
	}
	fuse := Fuse(s)
	there, state, err := Find(ctx, h, fuse, pool, d.Path)
	if err != nil {
		return a, err
	}
	if there != "" {
		a.Dead = state != "ONLINE"
		if there != class {
			return a, change.Refuse("plumb stack shows it", "%s is already in the pool %s, as its %s", d.Path, pool, there)
		}
		return a, nil
	}
	if a.Disk, err = disk.Look(ctx, h, d); err == nil {
		err = disk.Refuse(a.Disk)
	}
	if err == nil {
		err = memory(ctx, h, a.Disk)
	}
	if err != nil {
		return a, err
	}
	a.Acts = []change.Act{{Make: a.act(fuse, checksSectors(s))}}
	a.note(s, p)
	return a, nil
}

// Fuse tells whether the ZFS of a host is zfs-fuse.
func Fuse(s *stack.Stack) bool {
	m := s.Find(stack.Ref{Kind: "zfs", Name: "module"})
	return m != nil && m.Text("implementation") == "zfs-fuse"
}

// checksSectors tells whether zpool add refuses a device whose sectors are larger than those of the pool, which
// OpenZFS does since 2.3. Of a log or a cache nothing depends on that, and both can be removed again.
func checksSectors(s *stack.Stack) bool {
	m := s.Find(stack.Ref{Kind: "zfs", Name: "module"})
	if m == nil || m.Text("implementation") != "openzfs" {
		return false
	}
	v, err := catalog.ParseVersion(m.Text("version"))
	return err == nil && v.Compare(catalog.Version{2, 3}) >= 0
}

// Step is the step of a change that makes it.
func (a Addition) Step() change.Prepared {
	return change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "pool", Name: a.Pool}, Name: string(a.Class)}, To: stack.Text(a.Disk.Spec.Path), Because: "asked for"},
		Recipe: change.Recipe{Acts: a.Acts, Notes: a.Notes, Lasts: "the pool"}}
}

// act adds it. It is known by its path in the pool; that no other disk is behind that is looked at on the way out.
func (a Addition) act(fuse, checked bool) *change.Make {
	device := a.Disk.Spec.Path
	name := shown(fuse, a.Disk.Node, device)
	add := []string{"zpool", "add", a.Pool, string(a.Class), device}
	if !fuse {
		add = slices.Insert(add, 2, "-o", fmt.Sprintf("ashift=%d", a.Disk.Shift()))
	}
	if checked {
		add = slices.Insert(add, 2, "--allow-ashift-mismatch")
	}
	member := &change.Inspection{Argv: zfs.Tools{Fuse: fuse}.Status(a.Pool), Match: `^\s+(` + regexp.QuoteMeta(name) + `)(?:-part1|p1|1)?\s`}
	return &change.Make{
		Thing:     change.Thing{Name: Place(a.Class, a.Pool, device), Inspect: member},
		Moved:     &change.Moved{Identity: name, State: name},
		Unchanged: member,
		Do:        []change.Op{a.Disk.Proof(), {Argv: add}},
		Undo:      []change.Op{{Argv: []string{"sh", "-ec", remove, "sh", device, a.Pool, a.Disk.Identity, a.Disk.Digest}}},
		Rest:      []change.Op{a.Disk.BlankRemoved(a.Pool)},
	}
}

// remove takes a device out of its pool, unless another disk is found behind its path. One that is gone cannot be another.
const remove = disk.Says + `path=$1 pool=$2 of=$3 digest=$4
node=$(readlink -f -- "$path") || node=
if [ -b "$node" ] && [ "$(says "$node" "$of")" != "$digest" ]; then
  echo "$path is not the disk that was added: it is left as it is" >&2
  exit 1
fi
zpool remove "$pool" "$path"`

// shown is how the pool's status names a device.
func shown(fuse bool, node, device string) string {
	if fuse { // which leaves /dev out, and links
		return path.Base(node)
	}
	return device
}

// Find tells as what a device is in a pool, "" when it is not, and its state.
func Find(ctx context.Context, h host.Reader, fuse bool, pool, device string) (class Class, state string, err error) {
	text, err := h.Output(ctx, zfs.Tools{Fuse: fuse}.Status(pool)...)
	if err != nil {
		return "", "", fmt.Errorf("look at the pool %s: %w", pool, err)
	}
	node := device
	if st, err := h.Stat(ctx, device); err == nil {
		node = st.Resolved
	}
	name := regexp.MustCompile(`^` + regexp.QuoteMeta(shown(fuse, node, device)) + `(?:-part1|p1|1)?$`)
	for _, st := range zfs.ParseStatus(text) {
		for of, vdevs := range st.Classes {
			for len(vdevs) > 0 {
				v := vdevs[0]
				vdevs = append(vdevs[1:], v.Children...)
				if name.MatchString(v.Name) {
					return Class(strings.TrimSuffix(of, "s")), v.State, nil
				}
			}
		}
	}
	return "", "", nil
}

// memory refuses a loop device whose file is in memory: a cache there takes from the ARC what it gives, and a log there
// acknowledges what the next crash loses, after which the pool is not imported without zpool import -m.
func memory(ctx context.Context, h host.Reader, d disk.Disk) error {
	text, err := h.ReadFile(ctx, "/sys/class/block/"+d.Name+"/loop/backing_file")
	if err != nil {
		return nil // no loop device
	}
	fs, err := h.Statfs(ctx, path.Dir(strings.TrimSpace(string(text))))
	if err != nil || !fs.InMemory() {
		return nil // also of a file that is gone
	}
	return change.Refuse("plumb boost DATASET speeds up a load at the same risk, restores the setting by itself, and the pool can still be imported",
		"%s is in memory: as a log it would acknowledge writes that the next crash loses, and the pool could not be imported afterwards", d.Spec.Path)
}

func (a *Addition) note(s *stack.Stack, pool *stack.Thing) {
	if a.Class == Log {
		a.Notes = append(a.Notes, provision.OfLog(true)...)
		return
	}
	a.Notes = append(a.Notes, provision.OfCache)
	for _, t := range s.OfKind("dataset") {
		if zfs.PoolOf(t.Ref.Name) == pool.Ref.Name && len(on(s, t.Ref)) > 0 {
			if why := unfed(t); why != "" {
				a.Notes = append(a.Notes, why)
			}
		}
	}
}

// on lists the servers with something on a dataset.
func on(s *stack.Stack, dataset stack.Ref) (all []stack.Ref) {
	for _, r := range s.Roles {
		if fs := s.Find(r.Filesystem); fs != nil {
			if shown, _ := s.Follow(fs, "dataset"); len(shown) == 1 && shown[0].Ref == dataset && !slices.Contains(all, r.DB) {
				all = append(all, r.DB)
			}
		}
	}
	return all
}

// unfed says why no data of a dataset reach a cache device, or "".
func unfed(t *stack.Thing) string {
	switch first, second := t.Text("primarycache"), t.Text("secondarycache"); {
	case first != "" && first != "all":
		return fmt.Sprintf("primarycache of %s is %s: a cache device is fed only from the ARC, so none of its data reaches it", t.Ref.Name, first)
	case second != "" && second != "all":
		return fmt.Sprintf("secondarycache of %s is %s: none of its data reaches a cache device", t.Ref.Name, second)
	}
	return ""
}

// Added gives the number of the change that added a device and is in force, 0 for none.
func Added(all []*change.Change, pool, device string) (number int) {
	for _, c := range all {
		for _, a := range c.Acts {
			if m := a.Act.Make; m != nil && c.Open() && (m.Name == Place(Reads, pool, device) || m.Name == Place(Log, pool, device)) {
				number = c.Number
			}
		}
	}
	return number
}
