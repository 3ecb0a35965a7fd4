package series

import (
	"slices"
	"strings"
	"time"

	"plumb/internal/stack"
)

// Class is what a session does or waits for, in the words all servers share.
type Class string

// The classes. A reading sessions_CLASS of a server counts the active sessions
// of each at that moment, and sessions_active all of them.
const (
	ClassCPU     Class = "cpu"     // runs, or wants to
	ClassRead    Class = "read"    // waits for data to be read from files
	ClassWrite   Class = "write"   // waits for data to be written, or for a free page
	ClassLog     Class = "log"     // waits until redo, WAL, journal or the binary log is written or durable
	ClassLock    Class = "lock"    // waits for a lock that another session holds: row, table, metadata
	ClassLatch   Class = "latch"   // waits for a latch or lightweight lock inside the server
	ClassReplica Class = "replica" // waits for a replica's acknowledgement, or for the cluster
	ClassOther   Class = "other"   // waits for something else that the server names
	ClassUnknown Class = "unknown" // active, and the server does not say what it does
)

// Classes lists all classes in the order in which they are shown.
var Classes = []Class{ClassCPU, ClassRead, ClassWrite, ClassLog, ClassLock, ClassLatch, ClassReplica, ClassOther, ClassUnknown}

// Session is a connection that does something, or holds up others.
type Session struct {
	Of        stack.Ref     `json:"of"` // the server
	ID        int64         `json:"id"` // the server's own number for it: connection id, process id, opid
	User      string        `json:"user,omitempty"`
	Client    string        `json:"client,omitempty"` // host, without port
	Database  string        `json:"database,omitempty"`
	Active    bool          `json:"active"`              // false: in a transaction and doing nothing
	Class     Class         `json:"class,omitempty"`     // of an active one
	Wait      string        `json:"wait,omitempty"`      // as the server names it: "IO:WALSync", "wait/io/table/sql/handler"
	For       time.Duration `json:"for"`                 // in this statement, or idle since
	InTx      time.Duration `json:"in_tx,omitempty"`     // age of its transaction; 0: in none, or not known
	Statement string        `json:"statement,omitempty"` // digest or query id of what it runs
	Text      string        `json:"text,omitempty"`      // that statement without literals; "" where the server gives only literals
	BlockedBy []int64       `json:"blocked_by,omitempty"`
}

// Idle is what a session does that does nothing and is listed, as it has locks: those of LOCK TABLES need no transaction.
func (s Session) Idle() string {
	if s.InTx > 0 {
		return "idle in a transaction"
	}
	return "idle"
}

// Statement is what a server counted of one normalised statement since the
// counters started. Text never holds a literal.
type Statement struct {
	Of       stack.Ref `json:"of"` // the server
	Database string    `json:"database,omitempty"`
	ID       string    `json:"id"`             // digest, or query id with user and database, the same until the server forgets it
	Text     string    `json:"text,omitempty"` // "" where it was not asked for
	Since    time.Time `json:"since,omitzero"` // not counted before that; zero: not known
	Calls    float64   `json:"calls"`
	Seconds  float64   `json:"seconds"`            // time in it, all calls together
	Examined *float64  `json:"examined,omitempty"` // rows; nil where the server does not count them
	Returned *float64  `json:"returned,omitempty"` // rows sent or affected
	Bytes    *float64  `json:"bytes,omitempty"`    // pages touched and WAL written, in bytes; nil where the server does not count them
	Rest     bool      `json:"rest,omitempty"`     // all that the server has no room for
}

// OwnMark stands before the text of a statement that Plumb itself ran. Texts come
// from servers, whose clients can write what they like: [Statement.Mark] sets it.
const OwnMark = "/* plumb */ "

// Mark marks the statement where its text is known to be ours, whatever it begins with.
func (s *Statement) Mark(ours func(text string) bool) {
	for s.Own() {
		s.Text = strings.TrimPrefix(s.Text, OwnMark)
	}
	if ours != nil && s.Text != "" && ours(s.Text) {
		s.Text = OwnMark + s.Text
	}
}

// Own tells whether Plumb itself ran the statement.
func (s Statement) Own() bool { return strings.HasPrefix(s.Text, OwnMark) }

// Prepared is the name of a gap: statements that clients prepare and the server counts under no text.
const Prepared = "prepared_statements"

// unplanned are the first words of statements that have no plan.
var unplanned = []string{"alter", "analyze", "begin", "close", "commit", "create", "deallocate", "discard", "drop", "fetch", "load", "lock", "prepare", "release", "rollback",
	"savepoint", "set", "show", "start", "truncate", "unlock", "use", "vacuum"}

// HasPlan tells whether a server could say how it carries the statement out. Of one whose text is not known it may.
func (s Statement) HasPlan() bool {
	words := strings.Fields(s.Text)
	return !s.Rest && !s.Own() && (len(words) == 0 || !slices.Contains(unplanned, strings.ToLower(words[0])))
}

// UnlistedID is the id of what [Unlisted] gives. Others are listed each time, so it can fall, and is no counter.
const UnlistedID = "unlisted"

// Unlisted is what all statements of a server cost together beyond those that
// are listed; false where nothing is left, as they went on while they were read.
func Unlisted(all Statement, listed []Statement) (Statement, bool) {
	rest := all
	rest.ID, rest.Rest = UnlistedID, true
	less := func(total, part *float64) *float64 {
		if total == nil || part == nil {
			return total
		}
		left := *total - *part
		return &left
	}
	for _, s := range listed {
		rest.Calls, rest.Seconds = rest.Calls-s.Calls, rest.Seconds-s.Seconds
		rest.Examined, rest.Returned, rest.Bytes = less(rest.Examined, s.Examined), less(rest.Returned, s.Returned), less(rest.Bytes, s.Bytes)
	}
	return rest, rest.Calls > 0
}
