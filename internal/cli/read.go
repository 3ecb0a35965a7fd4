package cli

import (
	"context"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// read returns the stack of the machine or the tape that flags name.
func (a *app) read(ctx context.Context, cat *catalog.Catalog, src shell.Source) (*stack.Stack, error) {
	if src.Tape != "" {
		h, err := a.openTape(src.Tape)
		if err != nil {
			return nil, err
		}
		return lookInTime(ctx, h, cat, dsn.OnTape(h.About().Given), src.Timeout)
	}
	live, g, err := openLive(src)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	a.WarnUnverified(g)
	return lookInTime(ctx, host.NewCached(live), cat, g, src.Timeout)
}

// readHost reads the machine that flags name, for commands that have no
// catalogue of their own.
func (a *app) readHost(ctx context.Context, src shell.Source) (*stack.Stack, error) {
	cat, err := a.loadCatalog()
	if err != nil {
		return nil, err
	}
	return a.read(ctx, cat, src)
}

// openLive makes the reader of this machine, and the server that --dsn names.
func openLive(src shell.Source) (*host.Live, dsn.Given, error) { return src.Live(dialers) }

// lookInTime reads a machine, until the deadline at most.
func lookInTime(ctx context.Context, h host.Reader, cat *catalog.Catalog, g dsn.Given, limit time.Duration) (*stack.Stack, error) {
	return check.Observe(ctx, h, cat, phases(cat, g), limit)
}
