package protect

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plumb/internal/hint"
	"plumb/internal/stack"
)

// Form is the version of the file of a point. A newer one is refused.
const Form = 1

// Point is the snapshots of all that one server keeps data on, taken as one.
type Point struct {
	Form     int               `json:"form"`
	ID       string            `json:"id"` // when it was taken, in UTC, and four random digits
	State    State             `json:"state"`
	Host     string            `json:"host"`
	Plumb    string            `json:"plumb"` // version of the Plumb that took it
	Server   Server            `json:"server"`
	Mode     string            `json:"mode"` // the one that was asked: see Mode
	Label    Label             `json:"label"`
	Doubts   []string          `json:"doubts,omitempty"` // proofs that failed, and what may be missing: flush_log_at_trx_commit = 2
	Members  []Member          `json:"members"`
	Position Position          `json:"position,omitzero"` // under the lock; of a crash point: what the server said just before
	Files    map[string]string `json:"files,omitempty"`   // that a copy needs besides, by role and name: data/backup_label
	Times    Times             `json:"times"`
	Drill    *Drill            `json:"drill,omitempty"`    // the last one
	Ready    []Member          `json:"ready,omitempty"`    // snapshots of a copy that was recovered: it starts without redo
	Holds    []Hold            `json:"holds,omitempty"`    // while there is one, the point is not pruned
	Replicas []Replica         `json:"replicas,omitempty"` // that a copy was started of, each target's last one
}

// State is where the life of a point is.
type State string

// States of a point.
const (
	Taking     State = "taking"     // announced; its snapshots may or may not be there
	Taken      State = "taken"      //
	Destroying State = "destroying" // announced; some of its snapshots may be gone
)

// Label says what was proven of a point, from the least.
type Label string

// Labels.
const (
	Crash  Label = "crash"  // a server's files at one moment, as after a power cut
	Locked Label = "locked" // and nothing was committed between the position and the snapshot
	Proven Label = "proven" // a copy was started, recovered, checked and read
)

// Server is what a point keeps of its server: enough to start a copy of it where the
// server is not.
type Server struct {
	Ref      stack.Ref         `json:"ref"`      // mysql:3306
	Flavor   string            `json:"flavor"`   // of package product: mariadb, percona, postgres
	Product  string            `json:"product"`  // MariaDB 10.11.19
	Version  string            `json:"version"`  // 10.11.19
	Identity string            `json:"identity"` // server_uuid or system identifier; "" where it has none
	PID      int               `json:"pid"`
	Program  []string          `json:"program"`            // how it is started: a loader if it needs one, and the absolute path
	Env      []string          `json:"env,omitempty"`      // that it needs, such as LD_LIBRARY_PATH
	UID      int               `json:"uid"`                // it runs as
	GID      int               `json:"gid"`                //
	Unit     string            `json:"unit,omitempty"`     // of systemd, which starts and stops it
	Dirs     []Dir             `json:"dirs"`               // what it keeps where, in the order of the stack
	Settings map[string]string `json:"settings,omitempty"` // without which a copy does not start, or reads its data wrongly
}

// Dir is a directory or file in which a server keeps something.
type Dir struct {
	Role string `json:"role"` // of package stack: data, redo, wal, binlog, …
	Path string `json:"path"` // absolute, links resolved
	// Link is the name below the data directory of a link by which the server finds
	// it: pg_tblspc/16390; "" where it is found by its path.
	Link string `json:"link,omitempty"`
}

// Whole is an error unless all of a point was taken, and nothing of it is being destroyed.
func (p Point) Whole() error {
	switch p.State {
	case Taken:
		return nil
	case Destroying:
		return hint.With(errors.New("its destruction was begun"), "plumb prune continues it; plumb protect list shows other points")
	}
	return hint.With(errors.New("it is being taken, or the run that took it was killed"), "the next plumb snapshot or plumb prune finishes what a killed run left")
}

// Here is an error unless a point is whole, and of this host.
func (k *Keeper) Here(p Point) error {
	if err := p.Whole(); err != nil {
		return err
	}
	if p.Host != k.Host {
		return hint.With(fmt.Errorf("it was taken on another host, %s", p.Host), "plumb clone starts a copy of it")
	}
	return nil
}

// Executable is the program alone; "" when a loader starts it.
func (s Server) Executable() string {
	if len(s.Program) != 1 {
		return ""
	}
	return s.Program[0]
}

// Dir gives the first directory of a role, "" when there is none.
func (s Server) Dir(role string) string {
	for _, d := range s.Dirs {
		if d.Role == role {
			return d.Path
		}
	}
	return ""
}

// Snapshots gives the members, each snapshot once: several directories can lie in one.
func (p Point) Snapshots() (all []Member) {
	for _, m := range p.Members {
		if !slices.ContainsFunc(all, m.Same) {
			all = append(all, m)
		}
	}
	return all
}

// Position is where a server's log stood. What a product does not have is empty.
type Position struct {
	File     string `json:"file,omitempty"` // binary log
	Offset   int64  `json:"offset,omitempty"`
	GTID     string `json:"gtid,omitempty"`     // gtid_executed; MariaDB: gtid_binlog_pos
	Applied  string `json:"applied,omitempty"`  // of a replica: gtid_slave_pos
	LSN      string `json:"lsn,omitempty"`      // 0/3000060
	Timeline int    `json:"timeline,omitempty"` //
	Time     string `json:"time,omitempty"`     // MongoDB: the last optime
}

// Known tells whether anything is known of it.
func (p Position) Known() bool { return p != Position{} }

// Times of a point. Those that did not come are zero.
type Times struct {
	Began    time.Time     `json:"began"`
	Snapshot time.Time     `json:"snapshot"`          // just before the storage's command
	Ended    time.Time     `json:"ended"`             //
	Held     time.Duration `json:"held_ns,omitempty"` // from the first statement that can block anybody to its release
	Storage  time.Duration `json:"storage_ns"`        // of this, the storage's own snapshot
	Failed   *Failed       `json:"failed,omitempty"`  // what held others up before; nil for nothing
}

// Until is when all snapshots were there. What was committed before Began is in them, and what came after Until is not; of what was
// committed between, nobody knows.
func (t Times) Until() time.Time {
	if t.Snapshot.IsZero() { // of a run that was killed
		return t.Ended
	}
	return t.Snapshot.Add(t.Storage)
}

// Member is the snapshot of one volume of a point.
type Member struct {
	Volume
	Snapshot string `json:"snapshot"`        // as its storage names it: tank/db@plumb-20261123T210500Z-4f3a
	GUID     string `json:"guid"`            // by which it is known; the UUID of a subvolume
	Birth    string `json:"birth,omitempty"` // transaction group or generation in which it was made; all of one pool are equal
	Part     bool   `json:"part,omitempty"`  // it came about in part only: fit for nothing but to be destroyed
	Left     string `json:"left,omitempty"`  // why it is left where it is when its point is forgotten: what was learned in place of its state
}

// Same tells whether two members are of one snapshot. Storages name snapshots within their pool: two filesystems can each have one of a name.
func (m Member) Same(o Member) bool {
	return m.Storage == o.Storage && m.Pool == o.Pool && m.Snapshot == o.Snapshot
}

// Hold keeps a point from being pruned.
type Hold struct {
	Owner string    `json:"owner"` // who asked for it: replicate tank2/copy
	Since time.Time `json:"since"`
}

// Replica is what came of starting a copy of a point where it was sent to.
type Replica struct {
	Target string `json:"target"` // as it is typed: tank2/copies, ssh://vault/tank/copies
	Drill  Drill  `json:"drill"`
}

// Drill is what came of starting a copy of a point.
type Drill struct {
	At       time.Time     `json:"at"`
	OK       bool          `json:"ok"`
	Why      string        `json:"why,omitempty"` // not
	Plumb    string        `json:"plumb"`
	Position Position      `json:"position,omitzero"` // as recovered
	Exact    *bool         `json:"exact,omitempty"`   // it is the point's; nil where the point was taken without a lock
	Checks   []Check       `json:"checks"`
	Limits   []Limit       `json:"limits,omitempty"` // of what the copy's server could take from all else
	Recovery time.Duration `json:"recovery_ns"`      // from the start to the first answer
	Took     time.Duration `json:"took_ns"`
}

// Limit is something that a copy's server may take no more of.
type Limit struct {
	What string `json:"what"`          // 512M of memory
	Not  string `json:"not,omitempty"` // why it takes as much as it wants all the same
}

// Check is one thing a drill looked at.
type Check struct {
	What    string `json:"what"`              // CHECK TABLE of 12 tables
	Wrong   string `json:"wrong,omitempty"`   // what was found
	Unknown string `json:"unknown,omitempty"` // why it could not be judged: it is neither well nor wrong
}

// As gives what comes before a command that is run with no more rights than the server's
// user, who could have put links into what it works on; nothing when we are not root.
func (s Server) As(root bool) []string {
	if !root {
		return nil
	}
	return []string{"setpriv", "--reuid=" + strconv.Itoa(s.UID), "--regid=" + strconv.Itoa(s.GID), "--clear-groups", "--no-new-privs", "--"}
}

// NewID names a point: of fixed width, sorted by time, the same in every time zone.
func NewID(now time.Time) string {
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(random[:])
}

// SnapshotName is the name of all snapshots of a point, behind the @ of ZFS.
func SnapshotName(id string) string { return "plumb-" + id }
