// Package foreground runs a person's own command between our streams, as a shell would: the
// terminal is the command's. Nothing of it is recorded or bounded, since it is not ours.
package foreground

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Streams are what the command reads and writes.
type Streams struct{ In, Out, Err *os.File }

// Find tells whether there is such a program.
func Find(program string) error {
	_, err := exec.LookPath(program)
	return err
}

// grace is how long a command that was asked to end may take.
const grace = 10 * time.Second

// Run runs a command until it ends, and gives its exit status: as a shell does 128 and the
// signal's number where a signal ended it. When ctx ends the command is asked to end, and
// killed if it does not. The error says why it could not be begun.
func Run(ctx context.Context, s Streams, argv []string) (code int, err error) {
	if len(argv) == 0 {
		return 0, errors.New("no command is given")
	}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = s.In, s.Out, s.Err
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = grace
	if err := c.Start(); err != nil {
		return 0, err
	}
	err = c.Wait()
	if c.ProcessState == nil {
		return 0, err
	}
	if w, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), nil
	}
	return c.ProcessState.ExitCode(), nil
}
