package host

import (
	"context"
	"syscall"
)

// Launcher is a doer that also starts programs which keep running, such as the lab's
// private servers.
type Launcher interface {
	Streamer
	// Start starts a program. It keeps running when the context ends, and when this process does.
	Start(ctx context.Context, p Process) (Running, error)
}

// Process says how a program is started.
type Process struct {
	Argv     []string // the program by name or absolute path, and its arguments
	Env      []string // in addition to PATH, HOME=/ and LC_ALL=C; it gets nothing else of our environment, which could change a trial
	Dir      string   // working directory; "" for the root
	UID, GID int      // to run as; 0 for our own
	Groups   []string // directories of the control groups that it is put into before it begins
	Log      string   // file that its output is appended to; "" for none
}

// Signal is a signal to a program. It spares other packages the import of syscall.
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
	// Signal sends a signal to the program and everything it started. It is no error if the program has
	// ended.
	Signal(s Signal) error
	// Done is closed when the program has ended, and what it started in its process
	// group has been killed.
	Done() <-chan struct{}
	// Err is the error the program ended with. It is nil before Done.
	Err() error
}
