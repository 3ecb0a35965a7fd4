package moment

import (
	"context"
	"errors"
	"io"
	"strings"

	"plumb/internal/host"
	"plumb/internal/relay"
)

// Sh runs a script of the shell as the user, with arguments from $1 on. What is wrong it says on its standard error.
func (a At) Sh(ctx context.Context, d host.Streamer, in io.Reader, out io.Writer, script string, args ...string) error {
	argv := append(a.As[:len(a.As):len(a.As)], "sh", "-c", script, "sh")
	flow, err := d.Pipe(ctx, host.Pipe{Argv: append(argv, args...), In: in, Out: out, Works: true})
	if err == nil && flow.Unread {
		err = errors.New("it ended before it had read everything")
	}
	if err != nil {
		return &scripted{err, script}
	}
	return nil
}

// Pour runs a script of the shell as the user, and gives it what a function writes.
func (a At) Pour(ctx context.Context, d host.Streamer, write func(ctx context.Context, out io.Writer) error, script string, args ...string) error {
	return relay.Run(ctx, write, func(in io.Reader) error { return a.Sh(ctx, d, in, nil, script, args...) })
}

// scripted is an error that is told without the whole script.
type scripted struct {
	error
	script string
}

// Error implements error.
func (s *scripted) Error() string {
	return strings.ReplaceAll(s.error.Error(), s.script, "…")
}

// Unwrap gives what went wrong.
func (s *scripted) Unwrap() error { return s.error }
