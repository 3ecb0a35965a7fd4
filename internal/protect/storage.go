package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/inventory"
	"plumb/internal/stack"
)

// Volume is a dataset, subvolume or volume that holds files of a server.
type Volume struct {
	Storage    string `json:"storage"`          // which adapter: zfs, btrfs, xfs, lvm
	Name       string `json:"name"`             // as its storage names it: tank/db/data
	Pool       string `json:"pool,omitempty"`   // volumes of one pool can be taken at one moment
	Mountpoint string `json:"mountpoint"`       // where the server sees it
	Within     string `json:"within,omitempty"` // directory of the volume that is mounted there; "" for its root
}

// oneSnapshot tells whether one snapshot covers both of two volumes of a storage, as when one thing is mounted in two places, or two
// directories of it are.
func oneSnapshot(s Storage, v, w Volume) bool {
	_, each := s.(Piecewise)
	return v.Storage == w.Storage && v.Pool == w.Pool && v.Name == w.Name && (v.Within == w.Within || !each)
}

// once returns the volumes of a storage, but only the first of those that one snapshot covers.
func once(s Storage, vols []Volume) (all []Volume) {
	for _, v := range vols {
		if !slices.ContainsFunc(all, func(w Volume) bool { return oneSnapshot(s, v, w) }) {
			all = append(all, v)
		}
	}
	return all
}

// Storage is what protect needs of a kind of storage.
type Storage interface {
	// Name is what its volumes have as Volume.Storage.
	Name() string
	// Volume returns the volume of a mounted filesystem, and false when it is not on this storage. fs has only the facts of mountinfo
	// (fstype, source, mountpoint, mount_root, dev).
	Volume(s *stack.Stack, fs *stack.Thing) (Volume, bool)
	// Atomic says why snapshots of these volumes would not be of one moment; "" when they would.
	Atomic(vols []Volume) string
	// Room is an error if there is too little space to keep snapshots of the volumes, which is less than a tenth of their pool, or if
	// the snapshots could not be cloned, as without a loaded key.
	Room(s *stack.Stack, vols []Volume) error
	// Settle writes out what waits to be written, so that less of it is left once locks are held. Nothing relies on it.
	Settle(ctx context.Context, d host.Streamer, vols []Volume) error
	// Snapshot takes snapshots of all volumes at one moment, and writes facts on them, in the same command where the storage can. When it
	// fails, it also returns those snapshots that were made.
	Snapshot(ctx context.Context, d host.Streamer, vols []Volume, name string, facts map[string]string) ([]Member, error)
	// Find looks for snapshots that Snapshot made under a name, as when the run that called it was killed.
	Find(ctx context.Context, h host.Reader, vols []Volume, name string) ([]Member, error)
	// State tells what has become of a snapshot.
	State(ctx context.Context, h host.Reader, m Member) (MemberState, error)
	// Mark writes facts on a snapshot. It does nothing where the storage has no place for them.
	Mark(ctx context.Context, d host.Streamer, m Member, facts map[string]string) error
	// Clone makes a writable copy of a snapshot, and mounts it.
	Clone(ctx context.Context, d host.Streamer, m Member, at CloneAt) error
	// Destroy destroys snapshots, in one step where the storage can. It is an error if one of them is held, has clones, or has another
	// GUID or birth than was recorded.
	Destroy(ctx context.Context, d host.Streamer, members []Member) error
}

// CloneAt is where a clone is mounted, and where the things made for it are written down.
type CloneAt struct {
	Dir  string // an empty directory, for the mount
	Book *inventory.Book
	Life *inventory.Life // of the things; nil if they last no longer than the run
}

// Make makes a thing for the clone, and writes it down in the book.
func (at CloneAt) Make(ctx context.Context, t inventory.Thing, make func(*inventory.Thing) error) (inventory.Thing, error) {
	t.Life = at.Life
	return at.Book.Make(ctx, t, make)
}

// Mount calls mount, which mounts something on Dir, and writes it down in the book. source is what the table of mounts then shows.
func (at CloneAt) Mount(ctx context.Context, source string, mount func() error) error {
	t := inventory.Thing{Kind: inventory.Mount, Name: at.Dir, Proof: map[string]string{"source": source}}
	_, err := at.Make(ctx, t, func(*inventory.Thing) error { return mount() })
	return err
}

// ErrThere is wrapped in the error of a storage that is there, but tells nothing the way it is mounted now.
var ErrThere = errors.New("it is there")

// Placer is a storage with volumes that are not mounted by themselves, such as subvolumes and directories within a filesystem.
type Placer interface {
	// Place returns the volume that holds a file or directory. name is its path as the server sees it, and v the volume of the mount
	// it is on. The error says why no snapshot would cover it.
	Place(ctx context.Context, h host.Reader, v Volume, name string) (Volume, error)
}

// Piecewise is a storage that copies each directory by itself, so that two directories of one filesystem are two snapshots. The method
// only marks it.
type Piecewise interface{ Piecewise() }

// Sharer is a storage whose copies share free space with their source, and so can use it up.
type Sharer interface {
	// Free returns how much of the shared space is free, from 0 to 1. Of several kinds of space it is the scarcest that counts.
	Free(ctx context.Context, h host.Reader, m Member) (float64, error)
}

// Bound is a storage that works with commands somebody told us, and can do nothing without them.
type Bound interface {
	// Unable says why a snapshot can be neither looked at nor destroyed; "" when it can.
	Unable(m Member) string
}

// Surveyor is a storage for which it is cheaper to ask about many snapshots at once than about each.
type Surveyor interface {
	// States returns the result of State for each member, in their order.
	States(ctx context.Context, h host.Reader, members []Member) []Answer
}

// Answer is the result of Storage.State.
type Answer struct {
	MemberState
	Err error
}

// Tidier is a storage that must sometimes take more snapshots than it was asked for to take several volumes at one moment.
type Tidier interface {
	// Tidy destroys the snapshots called name that are not among the members. It is called when nothing is held any more.
	Tidy(ctx context.Context, d host.Streamer, members []Member, name string) error
}

// Copier is a storage that can keep snapshots of its clones.
type Copier interface {
	// CopyOf returns the volume of a clone in the inventory, and false when it is not on this storage.
	CopyOf(t inventory.Thing) (Volume, bool)
}

// Holder is a storage that can have things of the inventory on it.
type Holder interface {
	// Holds tells whether a thing lies in the pool or volume group that holds a volume, and so is lost with it.
	Holds(v Volume, t inventory.Thing) bool
}

// Locator is a storage that can clone a copy which others put somewhere, just as it clones a snapshot.
type Locator interface {
	// At returns what lies in a directory as a member of a point, with volume, snapshot, GUID and birth.
	At(ctx context.Context, h host.Reader, dir string) (Member, error)
}

// MemberState is what a storage tells of one snapshot now.
type MemberState struct {
	Gone   bool     // there is none with its name
	Other  bool     // there is one with its name, but it is another one
	Now    string   // its present name, if it is there under another one; it is also Gone or Other then
	Lacks  []string // parts of it that are gone or failed, while others are there
	Clones []string // names of the clones made of it
	Held   bool     // by anybody, with the storage's own holds
	Space  int64    // bytes that would be free without it; -1 when not known
}

// Usable is an error unless the snapshot is there, whole, under its name, and is the one that was taken.
func (s MemberState) Usable(m Member) error {
	switch {
	case s.Now != "":
		return hint.With(fmt.Errorf("the snapshot %s is %s now", m.Snapshot, s.Now), "rename it back: its dataset or volume was renamed")
	case s.Gone:
		return hint.With(fmt.Errorf("the snapshot %s is gone", m.Snapshot), "somebody destroyed it: the point can no longer be used; plumb protect list shows others")
	case len(s.Lacks) > 0:
		return hint.With(fmt.Errorf("a part of the snapshot %s is missing: %s", m.Snapshot, strings.Join(s.Lacks, ", ")), "it was destroyed, or never made: the point can no longer be used; plumb prune POINT destroys the rest")
	case s.Other:
		return hint.With(fmt.Errorf("%s is not the snapshot that was taken", m.Snapshot), "somebody destroyed the point's snapshot and made this one: the point can no longer be used; plumb protect list shows others")
	}
	return nil
}

// Set is the volumes on which one server keeps data.
type Set struct {
	Volumes []Volume `json:"volumes"`                 // sorted by mountpoint: parents before what is mounted in them
	Apart   string   `json:"apart,omitempty"`         // why snapshots of them would not be of one moment; "" when they would
	Strays  []Stray  `json:"outside_files,omitempty"` // files of the server that lie on none of them
	Others  []string `json:"others,omitempty"`        // other servers that keep something on them
}

// seen adds to the snapshots of a storage one member for each further volume of the set that they cover.
func (s Set) seen(of Storage, members []Member) []Member {
	all := slices.Clone(members)
	for _, m := range members {
		for _, v := range s.Volumes {
			if v != m.Volume && oneSnapshot(of, v, m.Volume) {
				also := m
				also.Volume = v
				all = append(all, also)
			}
		}
	}
	return all
}

// Stray is a file of the server outside of what can be snapshotted.
type Stray struct {
	Path string `json:"path"`
	Why  string `json:"why"` // "on tmpfs, which has no snapshots"
	Hint string `json:"hint,omitempty"`
	Link string `json:"link,omitempty"` // in the data directory, which leads there
}

// String names the file, and says why it cannot be snapshotted.
func (s Stray) String() string {
	name := s.Path
	if s.Link != "" {
		name += ", to which the link " + s.Link + " in the data directory leads"
	}
	if strings.HasPrefix(s.Why, "on ") {
		return name + ", which is " + s.Why
	}
	return name + ": " + s.Why
}

// outside tells whether a path is a stray, or lies in one.
func (s Set) outside(path string) bool {
	return slices.ContainsFunc(s.Strays, func(stray Stray) bool { return paths.Within(path, stray.Path) })
}

// Lacks says what of a server is on none of the volumes, passing over directories with the roles in but; "" for nothing.
func (s Set) Lacks(sv Server, but ...string) string {
	if len(s.Strays) > 0 {
		return "it would lack " + s.Strays[0].String()
	}
	for _, d := range sv.Dirs {
		if _, in := s.Of(d.Path); !in && !slices.Contains(but, d.Role) {
			return d.Path + " (" + d.Role + ") is on none of the volumes"
		}
	}
	return ""
}

// Of returns the volume that holds a path, and false when none does.
func (s Set) Of(path string) (Volume, bool) {
	var found Volume
	ok := false
	for _, v := range s.Volumes {
		if paths.Within(path, v.Mountpoint) && (!ok || len(v.Mountpoint) > len(found.Mountpoint)) {
			found, ok = v, true
		}
	}
	return found, ok
}
