// Package made keeps a book of everything a lab makes on a machine, before it
// makes it, so that all of it, and nothing else, can be taken away again,
// also after a crash.
//
// Each lab run has one file of its own in a directory of the machine
// ([Directory], or one of the user's), in the form of package journal. A thing
// that was taken away is noted too; a book in which nothing is left is removed.
package made

import (
	"context"
	"errors"

	"plumb/internal/host"
)

// Directory is where root's books are. Those of an ordinary user are in
// $XDG_STATE_HOME/plumb/lab, or ~/.local/state/plumb/lab.
const Directory = "/var/lib/plumb/lab"

// Kinds of things, in the order in which they are taken away.
const (
	Process = "process" // Name: PID. Proof: "start" (field 22 of /proc/PID/stat) and "argv"
	Limit   = "limit"   // Name: file of the kernel. Proof: "line" (what was written), "undo" (what takes it back)
	Sysctl  = "sysctl"  // Name: key. Proof: "before" and "value"
	Mount   = "mount"   // Name: mount point. Proof: "source"
	Pool    = "pool"    // Name: of the pool. Proof: "vdevs", which lie below the lab's directory
	Loop    = "loop"    // Name: device. Proof: "file", its backing file
	Group   = "group"   // Name: directory of the control group
	File    = "file"    // Name: path
	Tree    = "tree"    // Name: directory with all that is in it, which holds a marker file of ours
)

// Thing is one thing that was made. Proof is what must still be true of it
// for it to be ours: a loop device of the same name may since belong to
// somebody else.
type Thing struct {
	Kind  string            `json:"kind"`
	Name  string            `json:"name"`
	Proof map[string]string `json:"proof,omitempty"`
}

// Errors of this package.
var (
	ErrForeign = errors.New("not made by this lab: left alone")
	ErrLive    = errors.New("its lab is still running")
)

// Book is the open book of one running lab.
type Book struct {
}

// Open makes the book of a new run, locked for as long as the process lives.
func Open(ctx context.Context, d host.Doer, directory, run string) (*Book, error) {
	panic("to be written")
}

// Make writes down that a thing is going to be made, makes it, and writes
// down what was made: make may complete name and proof (the number of a loop
// device is known only then). When make fails, the thing is taken away as far as it
// came about.
func (b *Book) Make(ctx context.Context, t Thing, make func(t *Thing) error) (Thing, error) {
	panic("to be written")
}

// Proven completes a process: its name and when it started.
func Proven(ctx context.Context, h host.Reader, t *Thing, pid int) error { panic("to be written") }

// Remove takes a thing away and notes it. One that has gone already is fine.
func (b *Book) Remove(ctx context.Context, t Thing) error { panic("to be written") }

// Close takes away all that is left, newest first, and removes the book.
func (b *Book) Close(ctx context.Context) error { panic("to be written") }

// Left is what a book still holds.
type Left struct {
	Run    string  // of which lab run
	Book   string  // its file
	Live   bool    // the lab still runs: hands off
	Things []Thing // newest first
}

// List reads all books of a directory.
func List(ctx context.Context, d host.Doer, directory string) ([]Left, error) { panic("to be written") }

// Swept is what became of one thing.
type Swept struct {
	Thing Thing
	Err   error // nil: it is gone; ErrForeign: it was not ours any more
}

// Sweep takes away what dead labs left, newest first, checking each proof.
func Sweep(ctx context.Context, d host.Doer, directory string) ([]Swept, error) {
	panic("to be written")
}
