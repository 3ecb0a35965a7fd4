package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plumb/internal/host/redact"
)

// Streamer is a doer that also runs commands whose input and output are
// streams: for commands that run for hours, with data that does not fit into memory.
type Streamer interface {
	Doer
	// Pipe runs any command, as Run does, until it ends. It needs the same
	// memory for any number of bytes. The error says why the command was ended, what went
	// wrong with the streams, and how the command failed.
	//
	// When In fails the command is ended before its input is closed, so that it cannot
	// take what it has read for all of the input. A call of In or Out that hangs
	// can still be running when Pipe returns.
	Pipe(ctx context.Context, p Pipe) (Flow, error)
}

// Pipe says which command is run, and between which streams.
type Pipe struct {
	Argv []string
	In   io.Reader // its standard input; nil for none
	Out  io.Writer // for its standard output; nil to throw it away
	// Progress is how long nothing may go in or out before the command is
	// ended, with everything it started; 0 for 10 minutes. Input moves in steps of 64 KiB.
	Progress time.Duration
	// Works means that whatever the command reads and writes counts as
	// progress, as for cp, whose data does not pass through us.
	Works bool
	Grace time.Duration // between asking it to end and killing it; 0 for 5 s
	// Outlives is for a command that is to act after we were killed. No lock waits for it to end: it takes locks itself.
	Outlives bool
}

// Flow says what went through a pipe.
type Flow struct {
	In, Out int64 // bytes of its standard input and output
	Unread  bool  // it ended, or closed its input, before the end of In
	Code    int   // its exit status; -1 if it was never started, has not ended, or was ended by a signal
}

var (
	errQuiet = kindError{"ended, because nothing went in or out for", context.DeadlineExceeded}
	errHeld  = errors.New("it has ended, but something that it started holds its output open, so its output may be incomplete")
	errStays = kindError{"it does not end, even when killed: it waits in the kernel", context.DeadlineExceeded}
)

const (
	pipeChunk  = 64 << 10    // bytes that are moved at once
	pipeRest   = 1 << 20     // most bytes that a pipe holds: whatever comes after these is not from a command that has ended
	pipeStderr = 16 << 10    // bytes of standard error that are kept
	restTime   = time.Second // to read what is left in a pipe when its command has ended
)

var _ Streamer = (*LiveDoer)(nil)

// Pipe implements Streamer.
func (h *LiveDoer) Pipe(ctx context.Context, p Pipe) (Flow, error) {
	line := redact.Command(p.Argv)
	if len(p.Argv) == 0 {
		return Flow{Code: -1}, kindError{"run: no command given", ErrRefused}
	}
	setDefault(&p.Progress, runTime)
	setDefault(&p.Grace, graceTime)
	program, err := h.findProgram(ctx, p.Argv[0])
	if err != nil {
		return Flow{Code: -1}, Answered(fmt.Errorf("run %s: %w", line, err))
	}
	s, err := newStream(program, p, &h.unended)
	if err != nil {
		return Flow{Code: -1}, Answered(fmt.Errorf("run %s: %w", line, err))
	}
	if !p.Outlives {
		s.cmd.Env = append(s.cmd.Env, h.locks.variable()...)
	}
	flow, err := s.run(ctx)
	if err != nil { // not Answered: errors of In and Out are the caller's own, for errors.Is to find
		err = fmt.Errorf("run %s: %w", redact.Text(line), err)
	}
	return flow, err
}
