package watch

import (
	"time"

	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Sink takes what was seen, in the order of time. Whoever judges, records,
// shows or exports is one. Nothing it is given may be changed, nor kept in part.
type Sink interface {
	Picture(at time.Time, s *stack.Stack) // the host as a whole, some minutes apart
	Batch(b series.Batch)
}

// Moment is what watch says of one moment. Views show it, and --json writes it.
type Moment struct {
	Version  int           `json:"version"` // of this form: 1
	At       time.Time     `json:"at"`
	Window   time.Duration `json:"window"` // over which rates and means are
	Hostname string        `json:"hostname"`
	Servers  []Server      `json:"servers"`
	Tree     []Node        `json:"tree"`         // each server's part of the stack, top down
	Verdicts []Verdict     `json:"verdicts"`     // those raised now, the most expensive first
	Timeline []Span        `json:"timeline"`     // verdicts raised lately, ended ones too, oldest first
	Gaps     []series.Gap  `json:"gaps"`         // what cannot be seen now
	By       Order         `json:"by,omitempty"` // how statements are listed; empty: by time
}

// Server is what is known of one server now.
type Server struct {
	Ref        stack.Ref         `json:"ref"`
	Product    string            `json:"product"` // mysql, mariadb, percona, postgresql, mongodb
	Title      string            `json:"title"`   // MariaDB 10.11.14
	Up         bool              `json:"up"`
	Active     *float64          `json:"active"`  // active sessions, on average; null: not known
	Classes    []Share           `json:"classes"` // what they do, in the order of series.Classes, those that are not zero
	Rates      []Rate            `json:"rates"`   // transactions, statements, reads, … a second, those that are known
	Sessions   []series.Session  `json:"sessions"`
	Statements []StatementChange `json:"statements"` // those of the last minute, or of the span that was asked for; literals never
	Plans      []series.Plan     `json:"plans"`      // of those of them that were asked for; the judge knows none
	Indexes    *Indexes          `json:"indexes"`    // that can be done without; null: not asked for
	Ruled      []Ruled           `json:"ruled"`      // verdicts that do not hold, and why not
	Brief      []string          `json:"brief"`      // verdicts that hold in this window, and have not in enough of the last ones
	Unknown    []UnknownVerdict  `json:"unknown"`    // verdicts that nobody can tell, and what would show them
}

// Indexes are those that a server could do without, and why it is not known of
// all.
type Indexes struct {
	List []series.Index `json:"list"`
	Why  string         `json:"why,omitempty"`
	Hint string         `json:"hint,omitempty"`
}

// Share is the share of a server's active time in one class.
type Share struct {
	Class series.Class `json:"class"`
	Of    Interval     `json:"of"` // 0 to 1, with its interval
}

// Rate is a number that a DBA knows a server by.
type Rate struct {
	Name  string  `json:"name"`  // the series
	Label string  `json:"label"` // "transactions"
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // as catalog.Type: rate, bytes, ratio, …
}

// Node is one thing of the stack with its live values, below what lies on it.
type Node struct {
	Of      stack.Ref `json:"of"`
	Depth   int       `json:"depth"`
	Label   string    `json:"label"`
	Values  []Rate    `json:"values"`
	Verdict string    `json:"verdict,omitempty"` // id of a verdict raised about it
}

// Verdict is a limit that holds a server back.
type Verdict struct {
	ID       string          `json:"id"` // device/saturated
	Server   stack.Ref       `json:"server"`
	Things   []stack.Ref     `json:"things"`
	Title    string          `json:"title"`
	Say      string          `json:"say"`
	Share    *Interval       `json:"share"` // of the server's active time; null: not known
	Evidence []rule.Evidence `json:"evidence"`
	Against  []Against       `json:"against"`         // what would speak against it, and whether it does
	Causes   []string        `json:"causes"`          // ids of verdicts raised now that bring this one about; then this is a symptom
	Effects  []string        `json:"effects"`         // ids of those it brings about
	Rules    []string        `json:"rules,omitempty"` // what check says about the same
	Do       []string        `json:"do,omitempty"`    // what a person can do, or have rehearsed
	Since    time.Time       `json:"since"`
	Until    time.Time       `json:"until,omitzero"` // end of the last window that said so; zero: that is the newest
}

// Idle is the one verdict that is no limit: the server has little to do.
const Idle = "client/idle"

// Against is one piece of counter-evidence: it was looked for.
type Against struct {
	Says  string       `json:"says"`
	Holds rule.Outcome `json:"holds"` // fires: it speaks against the verdict
}

// Ruled is a verdict that was asked about and does not hold.
type Ruled struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// UnknownVerdict is one that cannot be told.
type UnknownVerdict struct {
	ID      string         `json:"id"`
	Missing []rule.Missing `json:"missing"`
}

// Span is the time in which a verdict held.
type Span struct {
	ID     string      `json:"id"`
	Server stack.Ref   `json:"server"`
	Things []stack.Ref `json:"things"`
	Title  string      `json:"title"`
	Share  *Interval   `json:"share"` // the largest
	From   time.Time   `json:"from"`
	To     time.Time   `json:"to,omitzero"` // zero: it goes on
}

// StatementChange is what one statement cost in a window, and against the one
// before it.
type StatementChange struct {
	series.Statement               // what it cost in the window: differences, not totals
	Over             time.Duration `json:"over"`  // that window: a minute, or since watching began, or what was asked for
	Share            float64       `json:"share"` // of the time of all statements
	// SlowerCalls and MoreCalls are seconds by which it costs more than in the window
	// before, or the one it is compared with: because each call takes longer, and because there are more.
	SlowerCalls *float64 `json:"slower_calls,omitempty"`
	MoreCalls   *float64 `json:"more_calls,omitempty"`
}

// Interval is a number with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
