package load

import (
	"context"
	"errors"
)

// Workload is something to do, numbered. What operation number n does depends
// on the seed and on n alone, never on which worker does it or when: so a run
// with one worker and a run with sixty-four do the same operations.
type Workload interface {
	// Name is what reports call it: "oltp_read_write".
	Name() string
	// Ops names the kinds of operation, such as "read", "write", "fsync", in
	// the order of Tally.Op.
	Ops() []string
	// Open makes what one worker needs: its connection, its buffers.
	Open(ctx context.Context, worker int) (Work, error)
}

// Work is one worker's half of a workload.
type Work interface {
	// Do does operation n and fills in the tally, which comes emptied. It is
	// called by one goroutine, allocates nothing once warm, and does not look
	// at the clock. An error that is a [*Failure] says by its class what to do
	// next: after Retry, Do is called again with the same n.
	Do(n int64, t *Tally) error
	// Close lets go of everything. It may be called while Do runs, and then
	// makes it return soon: that is how a hanging server is left.
	Close() error
}

// Tally is what one operation did. Counts include what failed attempts did,
// because the server did that work too.
type Tally struct {
	Op         int  // index in Workload.Ops
	RolledBack bool // ended as intended by a rollback: not a commit, not an error
	Skipped    bool // there was nothing to do, such as an empty delivery
	Counted
	Notes Notes
}

// Notes are counts with a meaning of the workload's own, named by Noted.
type Notes [8]int64

// Counted is what operations asked for.
type Counted struct {
	Reads      int64 // statements that returned rows, or reading requests
	Writes     int64 // statements that changed rows, or writing requests
	Other      int64 // statements that did neither: BEGIN, COMMIT, an update of no row; fsyncs
	ReadBytes  int64
	WriteBytes int64
}

func (c *Counted) add(o Counted) {
	c.Reads += o.Reads
	c.Writes += o.Writes
	c.Other += o.Other
	c.ReadBytes += o.ReadBytes
	c.WriteBytes += o.WriteBytes
}

// Noted is a workload that counts things of its own in Tally.Notes.
type Noted interface {
	Workload
	// Notes names the counts: "lines", "remote lines", …
	Notes() []string
}

// Class says what a failure means for the run.
type Class int

const (
	// Fatal failures end the run: the request itself is wrong.
	Fatal Class = iota
	// Retry failures go away by trying again: a deadlock, a serialisation
	// failure, a lock wait that took too long.
	Retry
	// Lost failures end the session: the server has gone or closed it.
	Lost
)

// String gives the word that results use.
func (c Class) String() string {
	switch c {
	case Retry:
		return "retry"
	case Lost:
		return "lost"
	}
	return "fatal"
}

// Failure is an operation that did not succeed.
type Failure struct {
	Class   Class
	Code    string // the server's: "1213", "40001"; "" for none
	Message string // the server's, as it came
	Doing   string // what was being done: the statement, the file and offset
	Err     error  // the cause, where there is one
}

// Error implements error.
func (f *Failure) Error() string {
	text := f.Doing
	if f.Code != "" {
		text += ": error " + f.Code
	}
	if f.Message != "" {
		text += ": " + f.Message
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// NoTable tells whether a failure says that a table is not there.
func NoTable(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && (f.Code == "1146" || f.Code == "42P01")
}

// classOf is Fatal for errors that are no [*Failure].
func classOf(err error) Class {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Class
	}
	return Fatal
}
