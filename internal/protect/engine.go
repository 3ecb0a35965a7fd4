package protect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/stack"
)

// Names of modes, cheapest first.
const (
	ModeCrash     = "crash"      // no lock: all in one atomic set, and all of it survives a power cut
	ModeLocked    = "locked"     // commits wait while the snapshot is taken
	ModeBackupAPI = "backup-api" // the server's own protocol for copies that are not of one moment
	ModeFreeze    = "freeze"     // the server's processes stand still
)

// Mode is a way to take a point.
type Mode struct {
	Name       string   `json:"name"`
	Why        string   `json:"why"`              // it is right here: "all tables are InnoDB, and data, redo and binlog lie in one pool"
	Not        string   `json:"not,omitempty"`    // it is not possible here, and why; "" when it is
	Blocks     string   `json:"blocks,omitempty"` // who waits meanwhile; "" for nobody
	Statements []string `json:"statements"`       // typed to the server, in order, the snapshot among them as "-- snapshot"
	// Will is the statements that give back what does not go with the connection. A process of its
	// own runs them when ours dies.
	Will  []string `json:"will,omitempty"`
	Asked bool     `json:"asked,omitempty"` // only when it is asked for by its name
	// Order is the mountpoints of all volumes, in the order in which they are snapshotted
	// one by one, the last of them after Staged.Between; none where they are taken together.
	Order  []string `json:"order,omitempty"`
	Doubts []string `json:"doubts,omitempty"` // what a point of this mode may lack here: "innodb_flush_log_at_trx_commit = 2: the last second"
}

// Engine is what taking a point asks of a database product.
type Engine interface {
	// Kind is that of its things in the stack.
	Kind() string
	// Describe says what the server is, and how it is reached. It only reads.
	Describe(ctx context.Context, h host.Reader, s *stack.Stack, db stack.Ref) (Server, host.Target, error)
	// Aside tells whether a file that the server has open for writing may be missing
	// from a point: logs for people, temporary files.
	Aside(s *stack.Stack, sv Server, file string) bool
	// Modes lists all modes, cheapest correct first; those that are not possible say
	// why. It only reads, and takes no lock.
	Modes(ctx context.Context, h host.Reader, t host.Target, s *stack.Stack, sv Server, set Set) ([]Mode, error)
	// Position reads where the server stands, without any lock.
	Position(ctx context.Context, h host.Reader, t host.Target) (Position, error)
	// Quiesce takes what a mode holds, on one connection, waiting for others no
	// longer than limit. It is released when the connection ends, however that is.
	// With an error nothing is held.
	Quiesce(ctx context.Context, h host.Held, m Mode, limit time.Duration) (Quiet, error)

	Starter
}

// Stands reads where a server stands that was started just now: that it listens is not yet that it answers.
func Stands(ctx context.Context, h host.Reader, e Engine, t host.Target) (p Position, err error) {
	err = await.Until(ctx, time.Minute, func() (bool, error) {
		p, err = e.Position(ctx, h, t)
		return err == nil, err
	})
	return p, err
}

// Teller is an Engine whose servers tell where their data are.
type Teller interface {
	// Says asks the server itself for its data directory, by the name that it was given. An error where it does not tell
	// whoever asks.
	Says(ctx context.Context, h host.Reader, t host.Target) (data string, err error)
}

// Said gives the one text that a query answers with.
func Said(ctx context.Context, h host.Reader, t host.Target, query string) (string, error) {
	rows, err := h.Query(ctx, t, query)
	if err != nil {
		return "", err
	}
	if len(rows.Values) != 1 || host.Text(rows.Values[0], 0) == "" {
		return "", fmt.Errorf("%s answered with %d rows to %q, not with one text", t.Name, len(rows.Values), query)
	}
	return host.Text(rows.Values[0], 0), nil
}

// Quiet is what is held while a snapshot is taken.
type Quiet interface {
	// Position reads where the server stands, on the same connection.
	Position(ctx context.Context) (Position, error)
	// Release gives everything back, but for what ends with the session. That it leaves open: who opened it
	// looks whether it is unbroken, and closes it. The files are those that a copy needs besides (Point.Files).
	Release(ctx context.Context) (files map[string]string, err error)
}

// Blocking is a Quiet for which others wait.
type Blocking interface {
	Quiet
	// Since is when the first statement was typed that can stop anybody; of the try that succeeded.
	Since() time.Time
	// Failed tells of the tries before that one. Nothing was held between them.
	Failed() Failed
}

// Failed is what was waited for in vain, so that nobody would wait for it for long.
type Failed struct {
	Tries   int           `json:"tries"`
	Longest time.Duration `json:"longest_ns"` // from the first statement that can block anybody until all was given back
}

// Staged is the Quiet of a mode with an order.
type Staged interface {
	Quiet
	// Between is called once when all volumes but the last are taken. With an error
	// they are no point.
	Between(ctx context.Context) error
}

// Starter starts copies of a server.
type Starter interface {
	// Neutralise takes the identity and the outward connections of a copy away and
	// writes its configuration, before its first start. All it touches lies below
	// Root and Run. What lies below Root belongs to the server's user, who could have put
	// links there: it is changed with no more rights than his.
	Neutralise(ctx context.Context, d host.Streamer, c Copy) error
	// Serve gives the command that runs a copy, in the foreground, the signal that ends it in an orderly
	// way, and the file of its log.
	Serve(c Copy) (start host.Process, stop host.Signal, log string, err error)
	// Open logs in to a copy that is starting or runs. An error means that it does not answer yet.
	Open(ctx context.Context, c Copy) (load.Admin, error)
	// Recovered reads where a copy stands after its recovery, before anybody wrote to it.
	Recovered(ctx context.Context, a load.Admin, c Copy) (Position, error)
	// Same tells whether a copy recovered exactly the point's position, and if not, in what they differ.
	Same(point, recovered Position) (difference string)
	// Reached compares where a drill's copy recovered with where its server stood just before the snapshots: it must have come at
	// least as far, where the server's settings promise that.
	Reached(ctx context.Context, a load.Admin, c Copy, recovered Position) (Check, error)
	// Check looks at the data by the engine's own means; full reads all of it.
	Check(ctx context.Context, a load.Admin, c Copy, full bool) ([]Check, error)
	// Follow makes a copy a replica of its source. Replicas only.
	// Where the server must be told before its first start, Neutralise did so, and this
	// proves it.
	Follow(ctx context.Context, a load.Admin, c Copy) error
	// Caught tells how far a replica is behind; "" when it has caught up. While it has not reached its source the error is ErrUnconnected.
	Caught(ctx context.Context, a load.Admin, c Copy) (behind string, err error)
}

// ErrUnconnected says of a replica that it has not reached its source yet.
var ErrUnconnected = errors.New("it has not reached its source")

// Resident is an Engine that can start copies of servers of other hosts. What such a host says of its
// server is not believed where it says what is run.
type Resident interface {
	// Programs lists patterns of where packages put the server's program on this host.
	Programs() []string
	// Resettle gives a server as this host would run it, by a program that said its version: with no
	// directory of programs or libraries that the other host named. An error says why that program does not fit.
	Resettle(sv Server, program, version string) (Server, error)
}

// Purpose says what a copy is for.
type Purpose string

// Purposes of copies.
const (
	ForDrill   Purpose = "drill"   // read and thrown away
	ForUse     Purpose = "clone"   // a server of its own, for development
	ForReplica Purpose = "replica" // follows its source
	ForBrowse  Purpose = "browse"  // its files are looked at, and no server is started on them
	// ForReplay is brought forward, stopped, and takes its source's place then: it keeps its
	// identity, and runs apart until then.
	ForReplay Purpose = "replay"
)

// Copy is a copy of a server's files, and how a server is to run on it.
type Copy struct {
	Server   Server // as the point has it
	Files    map[string]string
	Position Position
	Purpose  Purpose
	Root     string // every path of the server is below this directory in the copy: Root + "/var/lib/mysql"
	Run      string // directory of its own, for configuration, socket and log: only its user and root may enter it
	Closed   bool   // nobody but we may log in: accounts are not asked, nothing listens but a socket in Run
	Port     int    // it listens on, on the loopback; 0: on a socket in Run only
	Memory   int64  // that its cache may take, in bytes
	Number   int    // of the server, unlike that of any other near it
	Source   *Source
	Newest   int    // timeline that the server had come to; ForReplay
	Until    string // the last record of the log that is replayed as it recovers; "" for what it has itself
}

// In gives the place of one of the server's paths in the copy.
func (c Copy) In(path string) string { return c.Root + path }

// Source is whom a replica follows.
type Source struct {
	Network, Address string // unix or tcp
	User, Password   string
	Slot             string // PostgreSQL: a physical slot that exists
}
