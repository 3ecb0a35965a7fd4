// Package inventory keeps books of everything that Plumb makes on a machine,
// before it makes it, so that all of it, and nothing else, can be taken away
// again, also after a crash. How a kind of thing is proved to be ours and
// removed is passed in ([Kinds]).
//
// What a run makes goes when it ends, or with the next [Sweep]. A thing can also
// be meant to live ([Life]): it stays until somebody asks for its removal.
//
// Each run that makes things has one file of its own in a directory of the
// machine ([Directory], or one of the user's), in the form of package journal.
// A thing that was taken away is noted too; a book in which nothing is left is
// removed. The file is locked while its run lives; the kernel gives the lock
// back, however the run ends.
package inventory

import (
	"errors"
	"time"

	"plumb/internal/hint"
)

// Directory is where root's books are. Those of an ordinary user are in
// $XDG_STATE_HOME/plumb/lab, or ~/.local/state/plumb/lab.
const Directory = "/var/lib/plumb/lab"

// Names of kinds of things. When all of a book is taken away, limits go first, so that
// nothing has to wait for a slow device, then processes, then the others, newest
// first.
const (
	Process       = "process"        // Name: PID. Proof: "start" (field 22 of /proc/PID/stat), "boot" and "argv"
	Limit         = "limit"          // Name: file of the kernel. Proof: "line" (what was written), "undo" (what takes it back)
	Sysctl        = "sysctl"         // Name: key. Proof: "before" and "value"
	Mount         = "mount"          // Name: mount point. Proof: "source"
	Pool          = "pool"           // Name: of the pool. Proof: "guid"; "vdevs", which lie below the lab's directory
	Dataset       = "dataset"        // Name: of the dataset. Proof: "guid" where it has one, "run", which its property RunProperty says, and "below", the names of the datasets in it
	LogicalVolume = "logical volume" // Name: group/volume. Proof: "uuid"
	Image         = "rbd image"      // Name: pool/image. Proof: "id"
	Mapping       = "rbd mapping"    // Name: device. Proof: "image"
	Subvolume     = "subvolume"      // Name: path. Proof: "uuid", "parent" (the UUID of what it is a snapshot of), "filesystem" (its UUID), "top" (where that is mounted)
	Received      = "received"       // a subvolume. Name: path, which lies below a tree of the book. Proof: "filesystem", its UUID
	Loop          = "loop"           // Name: device. Proof: "file", its backing file
	Group         = "group"          // Name: directory of the control group
	File          = "file"           // Name: path. Proof: "inode", unless it lies below a tree of the book
	Tree          = "tree"           // Name: directory with all that is in it, which holds a marker file of ours. Proof: "inode"; "filesystem" where that is a btrfs that may not be mounted (its UUID)
)

// Marker is the file in a tree that tells it from any other directory. It
// holds the name of the run, or nothing.
const Marker = ".plumb-lab"

// Thing is one thing that was made. Proof is what must still be true of it
// for it to be ours: a loop device of the same name may since belong to
// somebody else.
type Thing struct {
	Kind  string            `json:"kind"`
	Name  string            `json:"name"`
	Proof map[string]string `json:"proof,omitempty"`
	Life  *Life             `json:"life,omitempty"` // nil: it goes with the run that made it
}

// Life says why a thing outlives the run that made it.
type Life struct {
	Owner   string    `json:"owner"`             // the verb that made or adopted it
	Purpose string    `json:"purpose,omitempty"` // what for, in a person's words
	Since   time.Time `json:"since"`
}

// Errors of this package.
var (
	ErrForeign = hint.With(errors.New("not made by this lab: left alone"), "what is there now is somebody's: look at it before you remove it by hand")
	ErrLive    = hint.With(errors.New("its lab is still running"), "let it end, or interrupt it")
	ErrUnknown = hint.With(errors.New("it is not in the inventory"), "plumb inventory lists what is in it")
)
