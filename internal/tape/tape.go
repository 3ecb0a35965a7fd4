package tape

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Version is the version of the format this package writes.
const Version = 1

// Limits of what is read. A tape is foreign input.
const (
	MaxLineBytes = 64 << 20 // of one line
	MaxBytes     = 1 << 30  // of the whole, after decompression
	MaxEntries   = 500_000
	MaxMemory    = 512 << 20 // of all entries, each counted with EntryBytes
	MaxOf        = 1 << 20   // of one call's arguments, as written
)

// EntryBytes is what an entry takes in memory beside its texts: a small file
// of a great many tiny ones must not fill the machine's.
const EntryBytes = 256

// Tape is the content of a tape.
type Tape struct {
	About   json.RawMessage // who was read, when and by what; a JSON object
	Entries []Entry
}

// Entry is one call and its answer.
type Entry struct {
	Op    string          `json:"op"`              // the kind of call
	Of    []Text          `json:"of"`              // its arguments
	Text  *Text           `json:"text,omitempty"`  // the answer, if it is text
	Value json.RawMessage `json:"value,omitempty"` // the answer, if it has a structure
	Error string          `json:"error,omitempty"` // the kind of error
	Says  string          `json:"says,omitempty"`  // the error's text
}

// Compare orders entries by call: by op, then by arguments.
func (e Entry) Compare(other Entry) int {
	if c := cmp.Compare(e.Op, other.Op); c != 0 {
		return c
	}
	return slices.Compare(e.Of, other.Of)
}

type header struct {
	Version int             `json:"plumb_tape"`
	About   json.RawMessage `json:"about,omitempty"`
}

type trailer struct {
	Version int    `json:"plumb_tape_end"`
	Entries int    `json:"entries"`
	SHA256  string `json:"sha256"`
}

// Error says what is wrong with a tape, where, and what a person can do.
type Error struct {
	Name string // the file's name, as given to Read
	Line int    // from 1; 0 if it is not about a line
	What string
	Hint string
	Err  error // the cause, if it came from elsewhere
}

// Error implements error. The hint is not in it.
func (e *Error) Error() string {
	text := "tape " + e.Name
	if e.Line > 0 {
		text += ", line " + itoa(e.Line)
	}
	text += ": " + e.What
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
