package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host"
)

// Act is one operation on one place. Exactly one of its kinds is set. All can be
// taken back, but for what a Remove has removed for good.
type Act struct {
	Edit   *Edit   `json:"edit,omitempty"`
	Switch *Switch `json:"switch,omitempty"`
	Make   *Make   `json:"make,omitempty"`
	Remove *Remove `json:"remove,omitempty"`
	Copy   *Copy   `json:"copy,omitempty"`
	Move   *Move   `json:"move,omitempty"`
}

// Edit sets one key in a configuration file, and so lasts. What of the file's
// bytes it changes is found when it is done, and kept in the journal.
type Edit struct {
	File  string      `json:"file"`
	Form  edit.Form   `json:"form"`
	Key   string      `json:"key"`
	Value string      `json:"value"`
	Note  string      `json:"note,omitempty"`  // a comment for a new file of ours: what reads it
	Ours  bool        `json:"ours,omitempty"`  // Plumb's own file: it goes when nothing is left in it
	Perm  fs.FileMode `json:"perm,omitempty"`  // of a new file; 0644 when 0
	Still *Still      `json:"still,omitempty"` // what must be so for it to be undone
	Apply *Op         `json:"apply,omitempty"` // what makes those who read the file read it again, such as udevadm control --reload; done after the edit and after its undo
}

// Switch brings something that runs, or keeps its own state, from one state
// to another. States are compared as text, after trimming blanks.
type Switch struct {
	On      string     `json:"on"`               // what, for people: "mysql:3306 @@GLOBAL.sync_binlog"
	Inspect Inspection `json:"look"`             // how the state is read
	Before  string     `json:"before,omitempty"` // the state found: set by this package when the act is done
	After   string     `json:"after"`            // the state wanted, as an Inspection will read it
	// Beyond lists states that are past After on the same way, in which there
	// is nothing left to do: the later steps of a buffer pool that grows.
	Beyond []string `json:"beyond,omitempty"`
	Do     []Op     `json:"do"` // idempotent
	// Undo brings Before back; idempotent. In its texts {before} stands for
	// the state found, {before:sql} for the same as a quoted SQL string.
	Undo []Op `json:"undo"`
	// UndoNone, if given, is used in place of Undo when the state found was
	// "none" (NULL, no row, no file): ALTER SYSTEM RESET, zfs inherit.
	UndoNone []Op `json:"undo_none,omitempty"`
	// Down is given for a value that a server keeps itself, and in which it can
	// then be changed only while it runs.
	Down *Down `json:"down,omitempty"`
	// Patience is how long the state may take to show, in milliseconds.
	Patience int64 `json:"patience_ms,omitempty"`
	// Home is the directory in which the server works that this starts. Once no process has worked there for a tenth of the patience,
	// the server has ended, and is waited for no longer. One that a start of the machine, or somebody, has started before it is
	// written down like one that was started here: an undo stops it.
	Home string `json:"home,omitempty"`
	// Guard must hold before and after: growing a buffer pool stops when
	// memory gets short.
	Guard *Guard `json:"guard,omitempty"`
	// Exact tells that the state read is all that Do and Undo change: where it is as it
	// was, nothing is left to undo, whatever happened.
	Exact bool `json:"exact,omitempty"`
	// Always tells that the state read says too little for it to be taken as undone: a server that
	// does not answer may be starting.
	Always bool `json:"always,omitempty"`
	// Again is how long what fails is tried again, in milliseconds: a filesystem is busy
	// for a moment after its last user has gone.
	Again int64 `json:"again_ms,omitempty"`
	// From, if given, is the only state it may be done from. What is found otherwise
	// is somebody's doing since the plan was made.
	From string `json:"from,omitempty"`
	// Either tells that nothing lies between the state found and After: any other is somebody's doing, which is neither
	// taken for done nor taken back, even by force.
	Either bool `json:"either,omitempty"`
	// Later is a regular expression for what updates may have made of the state reached, such as packages of newer versions: it
	// is taken back like that.
	Later string `json:"later,omitempty"`
	// Still must hold for it to be undone, even by force: others may by now have
	// data in what would be taken away.
	Still *Still `json:"still,omitempty"`
	Spare
}

// Down says where a value lies that a server keeps itself: a server that does
// not start with the value cannot be asked to take it back.
type Down struct {
	// File holds it, in a form that can be edited while the server is down; ""
	// when it is of no such form.
	File  string    `json:"file,omitempty"`
	Form  edit.Form `json:"form,omitempty"`
	Key   string    `json:"key,omitempty"`
	Value string    `json:"value,omitempty"` // After, as the file has it
	// Quoted tells that states of the switch are quoted SQL strings, which
	// the file's are not.
	Quoted bool `json:"quoted,omitempty"`
	// PID is the file in which a running server keeps its process id.
	PID string `json:"pid,omitempty"`
	// Hint says how a person gets the server to start without the value.
	Hint string `json:"hint,omitempty"`
}

// None is the state of what is not there: NULL, no row, no such file.
const None = "(none)"

// Inspection reads one state. Exactly one of File, Argv, Query, Of and Mounted is set.
type Inspection struct {
	File    string       `json:"file,omitempty"`
	Choice  bool         `json:"choice,omitempty"` // of "always [madvise] never" the word in brackets counts
	Match   string       `json:"match,omitempty"`  // an extended regular expression (POSIX) for whole lines: what its first group finds in the last such line; None when nothing
	Argv    []string     `json:"argv,omitempty"`   // a reading command; its output
	Among   []string     `json:"among,omitempty"`  // of the lines, only those whose first word is one of these
	Target  *host.Target `json:"target,omitempty"`
	Bare    string       `json:"bare,omitempty"`    // a directory whose own state it is: while something is mounted on it that cannot be read; None while there is none
	Dir     string       `json:"dir,omitempty"`     // the directory whose state it is: None while there is none
	Top     string       `json:"top,omitempty"`     // what must be mounted on Dir, as Mounted reads it: None while it is not
	Query   string       `json:"query,omitempty"`   // its cells, joined by tabs and newlines
	Mounted string       `json:"mounted,omitempty"` // a place: the type of what is uppermost there, and its UUID or else its source
	Of      *Property    `json:"of,omitempty"`      // of a dataset that this change made
	Long    bool         `json:"long,omitempty"`    // the query may take as long as it needs, or has names that a reading session does not take: it is asked on a session held for it
}

// Op is one operation. Exactly one of Write, Argv and Statement is set.
type Op struct {
	Write     *Write       `json:"write,omitempty"`
	Argv      []string     `json:"argv,omitempty"`
	Long      bool         `json:"long,omitempty"` // the command may take as long as it goes on, and ends when it stands still
	Target    *host.Target `json:"target,omitempty"`
	Statement string       `json:"statement,omitempty"`
}

// Write writes to a file of the kernel (/proc/sys, /sys), which cannot be
// replaced.
type Write struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Guard is what must be left of the machine's memory while a switch is done.
type Guard struct {
	MemAvailable int64 `json:"mem_available"` // bytes of MemAvailable that must be left
	SwapIn       bool  `json:"swap_in"`       // no page may be swapped in or out meanwhile
}

// String shows an operation as a person would type it.
func (o Op) String() string {
	switch {
	case o.Write != nil:
		return "echo " + host.ShellWord(o.Write.Text) + " > " + o.Write.File
	case o.Statement != "":
		return o.Statement + ";"
	}
	words := make([]string, len(o.Argv))
	for i, w := range o.Argv {
		words[i] = host.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// Stands tells whether the value stands in its file already.
func (e *Edit) Stands(ctx context.Context, h host.Reader) (bool, error) {
	text, err := h.ReadFile(ctx, e.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("see what %s says: %w", e.File, err)
	}
	value, set, err := edit.Get(e.Form, text, e.Key)
	return err == nil && set && value == e.Value, nil
}

// perm gives the mode of a new file.
func (e *Edit) perm() fs.FileMode { return cmp.Or(e.Perm, 0o644) }
