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

// Act is one operation on one place, which can be taken back. Exactly one of its kinds is set.
type Act struct {
	Edit   *Edit   `json:"edit,omitempty"`
	Switch *Switch `json:"switch,omitempty"`
	Make   *Make   `json:"make,omitempty"`
	Copy   *Copy   `json:"copy,omitempty"`
	Move   *Move   `json:"move,omitempty"`
}

// Edit sets one key in a configuration file, so that the value survives a restart. Which bytes of the file
// change is worked out when the edit is made, and kept in the journal.
type Edit struct {
	File  string      `json:"file"`
	Form  edit.Form   `json:"form"`
	Key   string      `json:"key"`
	Value string      `json:"value"`
	Note  string      `json:"note,omitempty"`  // a comment for a new file of ours: what reads it
	Ours  bool        `json:"ours,omitempty"`  // Plumb's own file: it is removed when nothing is left in it
	Perm  fs.FileMode `json:"perm,omitempty"`  // of a new file; 0644 when 0
	Still *Still      `json:"still,omitempty"` // must hold for it to be undone
	Apply *Op         `json:"apply,omitempty"` // makes the readers of the file read it again, such as udevadm control --reload; run after the edit and after its undo
}

// Switch changes the state of something that is running, or that keeps its state itself. States are compared
// as text, without blanks at either end.
type Switch struct {
	On      string     `json:"on"`               // what, for people: "mysql:3306 @@GLOBAL.sync_binlog"
	Inspect Inspection `json:"look"`             // how the state is read
	Before  string     `json:"before,omitempty"` // the state found: set by this package when the act is done
	After   string     `json:"after"`            // the state wanted, as an Inspection will read it
	// Beyond lists states that lie further in the same direction than After: in those nothing is left to do. A
	// buffer pool that grows step by step has them.
	Beyond []string `json:"beyond,omitempty"`
	Do     []Op     `json:"do"` // idempotent
	// Undo restores Before; idempotent. In its texts {before} stands for the state found, and {before:sql} for
	// the same as a quoted SQL string.
	Undo []Op `json:"undo"`
	// UndoNone, if given, replaces Undo where the state found was None: ALTER SYSTEM RESET, zfs inherit.
	UndoNone []Op `json:"undo_none,omitempty"`
	// Down is given for a value that the server stores itself, so that it can normally be changed only while the
	// server runs.
	Down *Down `json:"down,omitempty"`
	// Patience is how long it may take until the new state can be read, in milliseconds.
	Patience int64 `json:"patience_ms,omitempty"`
	// Home is the data directory of the server that this starts. If no process has used it for a tenth of Patience, the
	// server has ended, and is not waited for any longer. If the server runs already when its turn comes, for example
	// because the machine was started again, the act is recorded all the same, so that an undo stops the server.
	Home string `json:"home,omitempty"`
	// Guard must hold before and after: a buffer pool stops growing when memory gets short.
	Guard *Guard `json:"guard,omitempty"`
	// Exact says that Do and Undo change nothing but the state that is read. If that is as it was before, nothing
	// is left to undo, whatever happened in between.
	Exact bool `json:"exact,omitempty"`
	// Always says that the state as it was before does not prove that nothing is left to undo: a server that does
	// not answer may just be starting.
	Always bool `json:"always,omitempty"`
	// Again is how long operations that fail are repeated, in milliseconds: a filesystem is still busy for a
	// moment after its last user has gone.
	Again int64 `json:"again_ms,omitempty"`
	// From, if given, is the only state from which it may be done. Any other means that somebody has changed it
	// since the plan was made.
	From string `json:"from,omitempty"`
	// Either says that there is no state between the one found and After. Any other is somebody else's doing: it
	// neither counts as done nor is undone, even by force.
	Either bool `json:"either,omitempty"`
	// Later is a regular expression for what updates may have turned After into, such as newer versions of
	// packages. Such a state is undone like After itself.
	Later string `json:"later,omitempty"`
	// Still must hold for it to be undone, even by force: others may by now keep data in what would be taken away.
	Still *Still `json:"still,omitempty"`
	Spare
}

// Down says where a server stores a value itself. If the server does not start with that value, it cannot be
// asked to change it back, but the file can be edited.
type Down struct {
	// File holds the value; "" if it has no form that can be edited while the server is down.
	File  string    `json:"file,omitempty"`
	Form  edit.Form `json:"form,omitempty"`
	Key   string    `json:"key,omitempty"`
	Value string    `json:"value,omitempty"` // After, as the file has it
	// Quoted says that the states of the switch are quoted SQL strings, while the file has them unquoted.
	Quoted bool `json:"quoted,omitempty"`
	// PID is the file into which the running server writes its process id.
	PID string `json:"pid,omitempty"`
	// Hint says how a person gets the server to start without the value.
	Hint string `json:"hint,omitempty"`
}

// None is the state of something that does not exist: NULL, no row, no such file.
const None = "(none)"

// Inspection reads one state. Exactly one of File, Argv, Query, Of, Mounted and Socket is set.
type Inspection struct {
	File    string       `json:"file,omitempty"`
	Choice  bool         `json:"choice,omitempty"` // only the word in brackets counts, as in "always [madvise] never"
	Match   string       `json:"match,omitempty"`  // a POSIX extended regular expression for a line: the state is its first group in the last line that matches; None if none does
	Argv    []string     `json:"argv,omitempty"`   // a reading command; its output
	Among   []string     `json:"among,omitempty"`  // only lines count whose first word is one of these
	Target  *host.Target `json:"target,omitempty"`
	Bare    string       `json:"bare,omitempty"`    // the directory whose own state is read, which is hidden while something is mounted on it; None if it is not there
	Dir     string       `json:"dir,omitempty"`     // the directory whose state is read; None if it is not there
	Top     string       `json:"top,omitempty"`     // what must be mounted on Dir, in the form that Mounted reads; None while it is not
	Query   string       `json:"query,omitempty"`   // its cells, joined by tabs and newlines
	Mounted string       `json:"mounted,omitempty"` // a mount point: the type of the topmost mount there, and its UUID or else its source
	Socket  string       `json:"socket,omitempty"`  // the path of a Unix socket: itself while a process listens there, None otherwise
	Of      *Property    `json:"of,omitempty"`      // a property of a dataset that this change made
	Long    bool         `json:"long,omitempty"`    // the query may take long, or names something that a read-only session refuses: it gets a session of its own
}

// Op is one operation. Exactly one of Write, Argv and Statement is set.
type Op struct {
	Write     *Write       `json:"write,omitempty"`
	Argv      []string     `json:"argv,omitempty"`
	Long      bool         `json:"long,omitempty"` // the command may take any time while it makes progress, and is ended when it makes none
	Target    *host.Target `json:"target,omitempty"`
	Statement string       `json:"statement,omitempty"`
}

// Write writes to a file of the kernel (/proc/sys, /sys), which cannot be
// replaced.
type Write struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Guard says how much memory of the machine must be left while a switch is done.
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

// Stands tells whether the file already sets the key to the value. The error is that of reading the file.
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
