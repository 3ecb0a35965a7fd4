package host

import (
	"context"
	"syscall"
)

// Launcher is a doer that also starts programs which keep running: the lab's
// private servers.
type Launcher interface {
	Streamer
	// Start starts a program. It does not end with the context, nor with us.
	Start(ctx context.Context, p Process) (Running, error)
}

// Process says how a program is started.
type Process struct {
	Argv     []string // the program by name or absolute path, and its arguments
	Env      []string // besides PATH, HOME=/ and LC_ALL=C: nothing of our own environment changes a trial
	Dir      string   // working directory; "" for the root
	UID, GID int      // to run as; 0 for ourselves
	Groups   []string // directories of control groups it is put into before it begins
	Log      string   // file its output is appended to; "" for none
}

// Signal is a signal to a program. Other packages need not import syscall.
type Signal = syscall.Signal

// Signals that end programs.
const (
	Terminate Signal = syscall.SIGTERM
	Interrupt Signal = syscall.SIGINT
	Kill      Signal = syscall.SIGKILL
)

// Running is a program that was started.
type Running interface {
	PID() int
	// Signal sends a signal to the program and all it started. To one that has
	// ended it is no error.
	Signal(s Signal) error
	// Done is closed when it has ended. What it started in its process group
	// has then been killed.
	Done() <-chan struct{}
	// Err tells how it ended, after Done.
	Err() error
}
