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
// streams: for what takes hours and does not fit into memory.
type Streamer interface {
	Doer
	// Pipe runs any command, as Run does, until it ends. It needs the same
	// memory for any number of bytes. An error says why it was ended, or what went
	// wrong with the streams, and how the command ended, if not well.
	//
	// When In fails the command is ended, and its input closed only then: it
	// cannot take what it has for all there is. In and Out can still be in a call that
	// hangs when Pipe gives up on them.
	Pipe(ctx context.Context, p Pipe) (Flow, error)
}

// Pipe says which command is run, and between which streams.
type Pipe struct {
	Argv []string
	In   io.Reader // what it is given; nil for nothing
	Out  io.Writer // takes what it gives; nil when that does not matter
	// Progress is how long nothing may go in or out before the command is
	// ended, with all it started; 10 minutes. Its input moves in steps of 64 KiB.
	Progress time.Duration
	// Works means that what the command itself reads and writes counts as
	// progress too: for cp, whose bytes do not come this way.
	Works bool
	Grace time.Duration // between asking it to end and killing it; 5 s
	// Outlives is for what is to act once we are killed. No lock waits for its end: it takes some itself.
	Outlives bool
}

// Flow is what went through a pipe.
type Flow struct {
	In, Out int64 // bytes that the command was given and that it gave
	Unread  bool  // it ended, or closed its input, before the end of In
	Code    int   // its exit status; -1 when a signal ended it, it never began or has not ended
}

var (
	errQuiet = kindError{"ended, because nothing went in or out for", context.DeadlineExceeded}
	errHeld  = errors.New("it has ended, but something it started holds its output open: what it gave may not be all")
	errStays = kindError{"it does not end, even when killed: it waits in the kernel", context.DeadlineExceeded}
)

const (
	pipeChunk  = 64 << 10    // bytes that are moved at once
	pipeRest   = 1 << 20     // at most what a pipe holds: more was not given by a command that has ended
	pipeStderr = 16 << 10    // bytes of standard error that are kept
	restTime   = time.Second // for what stands in a pipe when its command has ended
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
	if err != nil { // the streams' errors are the caller's, and keep what they are
		err = fmt.Errorf("run %s: %w", redact.Text(line), err)
	}
	return flow, err
}
