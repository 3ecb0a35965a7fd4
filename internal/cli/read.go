package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// read gives the stack of the machine, or of the tape, that was asked for.
func (a *app) read(ctx context.Context, cat *catalog.Catalog, src source) (*stack.Stack, error) {
	if src.tape != "" {
		h, err := a.openTape(src.tape)
		if err != nil {
			return nil, err
		}
		return lookInTime(ctx, h, cat, givenOnTape(h.About().Given), src.timeout)
	}
	live, g, err := openLive(src)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	a.warnUnverified(g)
	return lookInTime(ctx, host.NewOnce(live), cat, g, src.timeout)
}

// openLive makes the reader of this machine, and the server that --dsn names.
func openLive(src source) (*host.Live, given, error) {
	g, err := readDSN(orEnvironment(src.dsn))
	if err != nil {
		return nil, given{}, hint.Usage("read --dsn: "+err.Error(), "postgres://user@host:5432/postgres or mysql://user@host:3306/")
	}
	return host.NewLive(host.LiveOptions{Dialers: dialers(g), DSN: g.dsn, Given: g.named(), Plumb: programVersion()}), g, nil
}

// lookInTime reads a machine until the deadline. What was seen until then is
// worth showing, so the deadline becomes a gap; an interrupt ends it all.
func lookInTime(ctx context.Context, h host.Reader, cat *catalog.Catalog, g given, limit time.Duration) (*stack.Stack, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := look(ctx, h, cat, g)
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		s.Gaps = append(s.Gaps, stack.Gap{Probe: "check", Why: fmt.Sprintf("the check ended at its deadline of %s", limit),
			Hint: "--timeout 2m gives it longer"})
	case err != nil:
		return nil, errors.New("read this host: interrupted")
	}
	return s, nil
}
