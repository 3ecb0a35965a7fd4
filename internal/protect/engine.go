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
	Asked bool     `json:"asked,omitempty"` // it is used only when somebody asks for it by its name
	// Order lists the mountpoints of all volumes where they must be snapshotted one by one, in this order. Staged.Between is called
	// before the last. It is empty where all are taken together.
	Order  []string `json:"order,omitempty"`
	Doubts []string `json:"doubts,omitempty"` // what a point of this mode may lack here: "innodb_flush_log_at_trx_commit = 2: the last second"
}

// Engine is what taking a point needs to know of a database product.
type Engine interface {
	// Kind is the kind of the product's servers in the stack.
	Kind() string
	// Describe says what the server is, and how it is reached. It only reads.
	Describe(ctx context.Context, h host.Reader, s *stack.Stack, db stack.Ref) (Server, host.Target, error)
	// Aside tells whether a point may do without a file that the server has open for writing, as without logs for people and
	// temporary files.
	Aside(s *stack.Stack, sv Server, file string) bool
	// Modes lists all modes, the cheapest first among those that are correct here. One that is not possible says why. Modes only
	// reads, and takes no lock.
	Modes(ctx context.Context, h host.Reader, t host.Target, s *stack.Stack, sv Server, set Set) ([]Mode, error)
	// Position reads where the server stands, without any lock.
	Position(ctx context.Context, h host.Reader, t host.Target) (Position, error)
	// Quiesce takes the locks of a mode on one connection, waiting for others no longer than limit. They are released when the
	// connection ends, whatever it ends of. When Quiesce fails nothing is held.
	Quiesce(ctx context.Context, h host.Held, m Mode, limit time.Duration) (Quiet, error)

	Starter
}

// Stands reads the position of a server that was just started. It waits up to a minute, as a server listens before it answers.
func Stands(ctx context.Context, h host.Reader, e Engine, t host.Target) (p Position, err error) {
	err = await.Until(ctx, time.Minute, func() (bool, error) {
		p, err = e.Position(ctx, h, t)
		return err == nil, err
	})
	return p, err
}

// Teller is an Engine whose servers can be asked where their data is.
type Teller interface {
	// Says asks the server for the path of its data directory, as it was configured: links are not resolved. It is an error if the
	// server does not tell the user we log in as.
	Says(ctx context.Context, h host.Reader, t host.Target) (data string, err error)
}

// Said returns the one text that a query results in. Any other result is an error.
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
	// Release gives everything back except what ends with the session, and leaves that open: whoever opened the session still checks
	// that it is unbroken, and closes it. The files are those that a copy needs in addition (Point.Files).
	Release(ctx context.Context) (files map[string]string, err error)
}

// Blocking is a Quiet for which others wait.
type Blocking interface {
	Quiet
	// Since is when the try that succeeded sent its first statement that can make others wait.
	Since() time.Time
	// Failed sums up the tries before that one. Nothing was held between tries.
	Failed() Failed
}

// Failed sums up tries for a lock that were given up, each so soon that nobody waited long behind it.
type Failed struct {
	Tries   int           `json:"tries"`
	Longest time.Duration `json:"longest_ns"` // from a try's first statement that can make others wait until all was given back
}

// Staged is the Quiet of a mode with an order.
type Staged interface {
	Quiet
	// Between is called once, when all volumes but the last are taken. When it fails there is no point.
	Between(ctx context.Context) error
}

// Starter starts copies of a server.
type Starter interface {
	// Neutralise prepares a copy for its first start: it removes its identity and its connections to others, and writes its
	// configuration. Everything it touches lies below Root and Run. What lies below Root belongs to the server's user, who could
	// have put links there, and so is changed with no more rights than that user's.
	Neutralise(ctx context.Context, d host.Streamer, c Copy) error
	// Serve returns the command that runs a copy in the foreground, the signal that shuts it down in an orderly way, and the path of
	// its log.
	Serve(c Copy) (start host.Process, stop host.Signal, log string, err error)
	// Open logs in to a copy that is starting or runs. An error means that it does not answer yet.
	Open(ctx context.Context, c Copy) (load.Admin, error)
	// Recovered reads the position of a copy after its recovery, before anybody wrote to it.
	Recovered(ctx context.Context, a load.Admin, c Copy) (Position, error)
	// Same tells whether a copy recovered exactly the point's position, and if not, in what they differ.
	Same(point, recovered Position) (difference string)
	// Reached checks that a drill's copy recovered at least as far as its server had come just before the snapshots. Where the
	// server's settings do not promise that, the check does not demand it.
	Reached(ctx context.Context, a load.Admin, c Copy, recovered Position) (Check, error)
	// Check looks at the data by the engine's own means; full reads all of it.
	Check(ctx context.Context, a load.Admin, c Copy, full bool) ([]Check, error)
	// Follow makes a copy a replica of its source; only for copies whose Purpose is ForReplica. Where a server must be told before
	// its first start, Neutralise did that, and Follow checks that it worked.
	Follow(ctx context.Context, d host.Streamer, a load.Admin, c Copy) error
	// Caught says how far a replica is behind; "" when it has caught up. While it has not connected to its source the error is
	// ErrUnconnected.
	Caught(ctx context.Context, a load.Admin, c Copy) (behind string, err error)
}

// ErrUnconnected says that a replica has not connected to its source yet.
var ErrUnconnected = errors.New("it has not reached its source")

// Resident is an Engine that can start copies of servers of other hosts. Whatever another host writes down about its server, it does
// not decide which programs are run on this one.
type Resident interface {
	// Programs lists glob patterns for where packages put the server's program on this host.
	Programs() []string
	// Resettle returns the server as this host would run it, with a program that told its version, and without any directory of
	// programs or libraries that the other host named. The error says why the program does not fit.
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
	// ForReplay is brought forward to a moment, stopped, and put in the place of its source. It keeps the source's identity, and so
	// runs cut off from others until then.
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
	Closed   bool   // nobody but Plumb may log in: it listens on a socket in Run alone, and checks no accounts
	Port     int    // on the loopback, on which it listens; 0 for a socket in Run alone
	Memory   int64  // bytes that its cache may take
	Number   int    // server number, which no server near it has
	Source   *Source
	Newest   int    // the timeline that the server had come to; only ForReplay
	Until    string // the last log record to be replayed in recovery; "" for all that the copy itself has
}

// In returns where one of the server's paths is in the copy.
func (c Copy) In(path string) string { return c.Root + path }

// Source is whom a replica follows.
type Source struct {
	Network, Address string // unix or tcp
	User, Password   string
	Slot             string // PostgreSQL: a physical slot that exists
}
