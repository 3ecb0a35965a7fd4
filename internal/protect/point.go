package protect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plumb/internal/dice"
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
	Mode     string            `json:"mode"` // how it was taken: crash, locked, backup-api or freeze
	Label    Label             `json:"label"`
	Doubts   []string          `json:"doubts,omitempty"` // proofs that failed, and what may be missing: flush_log_at_trx_commit = 2
	Members  []Member          `json:"members"`
	Position Position          `json:"position,omitzero"` // under the lock; of a crash point: what the server said just before
	Files    map[string]string `json:"files,omitempty"`   // contents of files that a copy needs in addition, by role and name: data/backup_label
	Times    Times             `json:"times"`
	Drill    *Drill            `json:"drill,omitempty"`    // the last one
	Ready    []Member          `json:"ready,omitempty"`    // snapshots of a copy that has recovered, and so starts without redo
	Holds    []Hold            `json:"holds,omitempty"`    // while there is one, the point is not pruned
	Replicas []Replica         `json:"replicas,omitempty"` // targets that it was sent to and drilled on, each with its last drill
}

// State is the stage in the life of a point.
type State string

// States of a point.
const (
	Taking     State = "taking"     // written down; its snapshots may or may not be there
	Taken      State = "taken"      // its snapshots are there
	Destroying State = "destroying" // to be destroyed; some of its snapshots may be gone
)

// Label says what was proven of a point.
type Label string

// Labels, from the least that was proven to the most.
const (
	Crash  Label = "crash"  // the server's files are of one moment, as after a power cut
	Locked Label = "locked" // also, nothing was committed between reading the position and the snapshot
	Proven Label = "proven" // also, a copy was started, recovered, checked and read
)

// Server is what a point records of its server: enough to start a copy where the server itself is not.
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
	// Link is the symbolic link, relative to the data directory, by which the server finds it: pg_tblspc/16390. It is "" where the
	// server finds it by its path.
	Link string `json:"link,omitempty"`
}

// Whole is an error unless the point's State is Taken.
func (p Point) Whole() error {
	switch p.State {
	case Taken:
		return nil
	case Destroying:
		return hint.With(errors.New("a run began to destroy it"), "plumb prune continues it; plumb protect list shows other points")
	}
	return hint.With(errors.New("it is being taken, or the run that took it was killed"), "the next plumb snapshot or plumb prune finishes what a killed run left")
}

// Here is an error unless a point is whole and was taken on this host.
func (k *Keeper) Here(p Point) error {
	if err := p.Whole(); err != nil {
		return err
	}
	if p.Host != k.Host {
		return hint.With(fmt.Errorf("it was taken on another host, %s", p.Host), "plumb clone starts a copy of it")
	}
	return nil
}

// Executable is the path of the program; "" when it is started by a loader.
func (s Server) Executable() string {
	if len(s.Program) != 1 {
		return ""
	}
	return s.Program[0]
}

// Dir returns the path of the first directory with a role; "" when there is none.
func (s Server) Dir(role string) string {
	for _, d := range s.Dirs {
		if d.Role == role {
			return d.Path
		}
	}
	return ""
}

// Snapshots returns one member for each snapshot. Several members are of one snapshot when directories of the server lie in one volume.
func (p Point) Snapshots() (all []Member) {
	for _, m := range p.Members {
		if !slices.ContainsFunc(all, m.Same) {
			all = append(all, m)
		}
	}
	return all
}

// Position is where a server's log stood. Fields that a product does not have are empty.
type Position struct {
	File     string `json:"file,omitempty"` // binary log
	Offset   int64  `json:"offset,omitempty"`
	GTID     string `json:"gtid,omitempty"`     // gtid_executed; MariaDB: gtid_binlog_pos
	Applied  string `json:"applied,omitempty"`  // of a replica: gtid_slave_pos; of a standby of PostgreSQL: LSN
	LSN      string `json:"lsn,omitempty"`      // PostgreSQL: 0/3000060
	Timeline int    `json:"timeline,omitempty"` // PostgreSQL
	Time     string `json:"time,omitempty"`     // MongoDB: the last optime
}

// Known tells whether any field is set.
func (p Position) Known() bool { return p != Position{} }

// Times says when a point was taken, and how long it took. What did not happen is zero.
type Times struct {
	Began    time.Time     `json:"began"`
	Snapshot time.Time     `json:"snapshot"`          // just before the storage's command
	Ended    time.Time     `json:"ended"`             //
	Held     time.Duration `json:"held_ns,omitempty"` // from the first statement that can make others wait to its release
	Storage  time.Duration `json:"storage_ns"`        // the part of this that the storage took for the snapshots
	Failed   *Failed       `json:"failed,omitempty"`  // tries before, which made others wait too; nil for none
}

// Until is when all snapshots were there. What was committed before Began is in them, and what was committed after Until is not. Nobody
// knows about what was committed in between.
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
	GUID     string `json:"guid"`            // by which the storage tells it from another of the same name; the UUID of a subvolume
	Birth    string `json:"birth,omitempty"` // transaction group or generation in which it was made: the same for all that are of one moment
	Part     bool   `json:"part,omitempty"`  // only a part of it was made: it can only be destroyed
	Left     string `json:"left,omitempty"`  // why it is left where it is when its point is forgotten: why its storage does not answer
}

// Same tells whether two members are of one snapshot. A snapshot's name is unique only within its pool.
func (m Member) Same(o Member) bool {
	return m.Storage == o.Storage && m.Pool == o.Pool && m.Snapshot == o.Snapshot
}

// Hold keeps a point from being pruned.
type Hold struct {
	Owner string    `json:"owner"` // who asked for it: replicate tank2/copy
	Since time.Time `json:"since"`
}

// Replica is the last drill of a point on a target that it was replicated to.
type Replica struct {
	Target string `json:"target"` // as it is typed: tank2/copies, ssh://vault/tank/copies
	Drill  Drill  `json:"drill"`
}

// Drill is the result of starting a copy of a point.
type Drill struct {
	At       time.Time     `json:"at"`
	OK       bool          `json:"ok"`
	Why      string        `json:"why,omitempty"`     // it failed; "" when OK
	Plumb    string        `json:"plumb"`             // version of the Plumb that ran it
	Position Position      `json:"position,omitzero"` // the position that the copy recovered
	Exact    *bool         `json:"exact,omitempty"`   // whether it recovered exactly the position of the point; nil where the point was taken without a lock
	Checks   []Check       `json:"checks"`
	Limits   []Limit       `json:"limits,omitempty"` // on what the copy's server could take from everything else on the host
	Recovery time.Duration `json:"recovery_ns"`      // from the start to the first answer
	Took     time.Duration `json:"took_ns"`
}

// Limit is a limit on what a copy's server may take.
type Limit struct {
	What string `json:"what"`          // 512M of memory
	Not  string `json:"not,omitempty"` // why the limit could not be set; "" when it was
}

// Check is one thing a drill looked at.
type Check struct {
	What    string `json:"what"`              // CHECK TABLE of 12 tables
	Wrong   string `json:"wrong,omitempty"`   // what was found to be wrong; "" for nothing
	Unknown string `json:"unknown,omitempty"` // why the check could not tell; "" when it could
}

// As returns the words to put before a command so that it runs with no more rights than the server's user, who could have put links
// into what the command works on. It returns none when we are not root.
func (s Server) As(root bool) []string {
	if !root {
		return nil
	}
	return []string{"setpriv", "--reuid=" + strconv.Itoa(s.UID), "--regid=" + strconv.Itoa(s.GID), "--clear-groups", "--no-new-privs", "--"}
}

// NewID returns an ID for a point. IDs have a fixed width, and sort by time.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102T150405Z") + "-" + dice.Hex(2)
}

// SnapshotName is the name of all snapshots of a point; on ZFS, what comes after the @.
func SnapshotName(id string) string { return "plumb-" + id }
