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
	Within     string `json:"within,omitempty"` // directory of the volume that is mounted there, "" for its root
}

// oneSnapshot tells of two volumes of a storage whether one snapshot is of both: what is mounted in two places, and two directories of one
// thing.
func oneSnapshot(s Storage, v, w Volume) bool {
	_, each := s.(Piecewise)
	return v.Storage == w.Storage && v.Pool == w.Pool && v.Name == w.Name && (v.Within == w.Within || !each)
}

// once gives of the volumes of a storage the first of those of which one snapshot is taken.
func once(s Storage, vols []Volume) (all []Volume) {
	for _, v := range vols {
		if !slices.ContainsFunc(all, func(w Volume) bool { return oneSnapshot(s, v, w) }) {
			all = append(all, v)
		}
	}
	return all
}

// Storage is what protect asks of a kind of storage.
type Storage interface {
	// Name is that of its volumes' Storage.
	Name() string
	// Volume tells which volume a mounted filesystem is; false when it is none of this
	// storage. fs has the facts of mountinfo alone (fstype, source, mountpoint, mount_root, dev).
	Volume(s *stack.Stack, fs *stack.Thing) (Volume, bool)
	// Atomic tells why snapshots of these volumes are not of one moment; "" when they are.
	Atomic(vols []Volume) string
	// Room tells why there is too little space to keep a snapshot of them: less than a tenth of a
	// pool; or why they cannot be cloned: a key that is not loaded. nil when all is well.
	Room(s *stack.Stack, vols []Volume) error
	// Settle makes what waits to be written smaller, before anything is held. It is no part of the proof.
	Settle(ctx context.Context, d host.Streamer, vols []Volume) error
	// Snapshot takes all volumes at one moment, with facts written on each snapshot in the same
	// command where the storage can. With an error, what came about is given too.
	Snapshot(ctx context.Context, d host.Streamer, vols []Volume, name string, facts map[string]string) ([]Member, error)
	// Find looks for the snapshots that Snapshot makes under a name; for what a killed run left.
	Find(ctx context.Context, h host.Reader, vols []Volume, name string) ([]Member, error)
	// State tells what has become of a snapshot.
	State(ctx context.Context, h host.Reader, m Member) (MemberState, error)
	// Mark writes facts on a snapshot; it does nothing where the storage cannot.
	Mark(ctx context.Context, d host.Streamer, m Member, facts map[string]string) error
	// Clone makes a writable copy of a snapshot, and mounts it.
	Clone(ctx context.Context, d host.Streamer, m Member, at CloneAt) error
	// Destroy destroys snapshots, each by name, GUID and birth, in one step where the storage can. It
	// destroys none that is held, has clones, or is another than was recorded.
	Destroy(ctx context.Context, d host.Streamer, members []Member) error
}

// CloneAt is where a clone is mounted, and in which book everything is that is made for it.
type CloneAt struct {
	Dir  string // empty
	Book *inventory.Book
	Life *inventory.Life // nil for what goes with the run
}

// Make makes a thing, which lives as long as the clone.
func (at CloneAt) Make(ctx context.Context, t inventory.Thing, make func(*inventory.Thing) error) (inventory.Thing, error) {
	t.Life = at.Life
	return at.Book.Make(ctx, t, make)
}

// Mount mounts something on the directory, which the table of mounts then shows as of that source.
func (at CloneAt) Mount(ctx context.Context, source string, mount func() error) error {
	t := inventory.Thing{Kind: inventory.Mount, Name: at.Dir, Proof: map[string]string{"source": source}}
	_, err := at.Make(ctx, t, func(*inventory.Thing) error { return mount() })
	return err
}

// ErrThere is an error of a storage that is there, and of which only nothing can be learned as it is mounted now.
var ErrThere = errors.New("it is there")

// Placer is a storage that cannot tell all its volumes by what is mounted: subvolumes
// and directories that lie in a filesystem.
type Placer interface {
	// Place tells which volume holds a file or directory that the server sees, on the mount whose
	// volume v is. An error says why no snapshot would cover it.
	Place(ctx context.Context, h host.Reader, v Volume, name string) (Volume, error)
}

// Piecewise is a storage that copies each directory by itself: two directories of one filesystem are two copies.
type Piecewise interface{ Piecewise() }

// Sharer is a storage whose copies write where their source does, and can take the last room from it.
type Sharer interface {
	// Free tells which part of what a copy shares with its source is free, from 0 to 1; of several kinds of room, that of the scarcest.
	Free(ctx context.Context, h host.Reader, m Member) (float64, error)
}

// Bound is a storage that destroys only what it was told how to.
type Bound interface {
	// Unable tells why a snapshot can neither be looked at nor destroyed; "" when it can.
	Unable(m Member) string
}

// Surveyor is a storage of which many snapshots are asked for at once, for less than each.
type Surveyor interface {
	// States gives what State gives of each.
	States(ctx context.Context, h host.Reader, members []Member) []Answer
}

// Answer is what came of a question about one snapshot.
type Answer struct {
	MemberState
	Err error
}

// Tidier is a storage that takes more than it was asked for, where it cannot take several volumes at one moment else.
type Tidier interface {
	// Tidy destroys what was taken beyond the members under their name. Nothing is held any more by then.
	Tidy(ctx context.Context, d host.Streamer, members []Member, name string) error
}

// Copier is a storage of whose clones snapshots can be kept.
type Copier interface {
	// CopyOf tells which volume a clone is, as the inventory has it; false when it is none of this storage.
	CopyOf(t inventory.Thing) (Volume, bool)
}

// Holder is a storage on which things of the inventory lie.
type Holder interface {
	// Holds tells whether a thing lies on what holds a volume, and is lost with it.
	Holds(v Volume, t inventory.Thing) bool
}

// Locator is a storage that can clone what others put somewhere as it clones a snapshot.
type Locator interface {
	// At gives what lies in a directory as a member of a point: volume, snapshot, GUID and birth.
	At(ctx context.Context, h host.Reader, dir string) (Member, error)
}

// MemberState is what a storage tells of one snapshot now.
type MemberState struct {
	Gone   bool     // there is none of that name
	Other  bool     // there is one, but it is another
	Now    string   // the name under which it is there, when it is Gone or Other under its own
	Lacks  []string // parts of it that are gone or failed, while others are there
	Clones []string // made of it
	Held   bool     // by anybody
	Space  int64    // bytes that only it keeps; -1 when not known
}

// Usable is an error unless a snapshot is there, and is the one that was taken.
func (s MemberState) Usable(m Member) error {
	switch {
	case s.Now != "":
		return hint.With(fmt.Errorf("the snapshot %s is %s now", m.Snapshot, s.Now), "give it back the name that it had: what it is of was renamed")
	case s.Gone:
		return hint.With(fmt.Errorf("the snapshot %s is gone", m.Snapshot), "somebody destroyed it: the point can no longer be used; plumb protect list shows others")
	case len(s.Lacks) > 0:
		return hint.With(fmt.Errorf("a part of the snapshot %s is missing: %s", m.Snapshot, strings.Join(s.Lacks, ", ")), "it was destroyed, or never made: the point can no longer be used; plumb prune POINT destroys the rest")
	case s.Other:
		return hint.With(fmt.Errorf("%s is another snapshot than the one that was taken", m.Snapshot), "somebody destroyed the point's snapshot and made this one: the point can no longer be used; plumb protect list shows others")
	}
	return nil
}

// Set is the volumes on which one server keeps data.
type Set struct {
	Volumes []Volume `json:"volumes"`                 // parents before what is mounted in them
	Apart   string   `json:"apart,omitempty"`         // why their snapshots are not of one moment; "" when they are
	Strays  []Stray  `json:"outside_files,omitempty"` // files the server writes that lie on none of them
	Others  []string `json:"others,omitempty"`        // servers and programs that have files open on them too
}

// seen gives snapshots of a storage, each for all places in which the server sees something of it.
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
	Link string `json:"link,omitempty"` // in the data directory, that leads there
}

// String says what a point would lack.
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

// outside tells whether a path lies in a directory of which it was said that no snapshot covers it.
func (s Set) outside(path string) bool {
	return slices.ContainsFunc(s.Strays, func(stray Stray) bool { return paths.Within(path, stray.Path) })
}

// Lacks tells what of a server none of the volumes holds, but for directories of some roles; "" for nothing.
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

// Of gives the volume that holds a path, and false when none does.
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
