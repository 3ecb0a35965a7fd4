package cli

import (
	"context"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/dsn"
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
		return lookInTime(ctx, h, cat, dsn.OnTape(h.About().Given), src.timeout)
	}
	live, g, err := openLive(src)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	a.warnUnverified(g)
	return lookInTime(ctx, host.NewCached(live), cat, g, src.timeout)
}

// openLive makes the reader of this machine, and the server that --dsn names.
func openLive(src source) (*host.Live, dsn.Given, error) {
	g, err := dsn.Read(orEnvironment(src.dsn))
	if err != nil {
		return nil, dsn.Given{}, hint.Usage("read --dsn: "+err.Error(), "postgres://user@host:5432/postgres or mysql://user@host:3306/")
	}
	return host.NewLive(host.LiveOptions{Dialers: dialers(g), DSN: g.DSN, Given: g.Named(), Plumb: programVersion()}), g, nil
}

// lookInTime reads a machine until the deadline.
func lookInTime(ctx context.Context, h host.Reader, cat *catalog.Catalog, g dsn.Given, limit time.Duration) (*stack.Stack, error) {
	return check.Observe(ctx, h, cat, phases(cat, g), limit)
}
