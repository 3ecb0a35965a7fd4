package cli

import (
	"context"
	"errors"

	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/tpcc"
	loadview "plumb/internal/view/load"
)

// driveTPCC measures. With keying there are as many threads as terminals,
// unless told otherwise.
func (a *app) driveTPCC(ctx context.Context, cfg tpcc.Config, o load.Options, f *tpccCommand) error {
	if cfg.Keying && !f.threadsGiven {
		o.Threads = cfg.Terminals()
	}
	cfg.Run, cfg.Sessions = o.Seed, o.Threads
	about, err := cfg.Server.About(ctx)
	if err != nil {
		return err
	}
	book, err := durability.Begin(ctx, cfg.Server, f.book, durability.Header{Target: about.Address + " " + about.Database, Seed: o.Seed, Workload: "tpcc"})
	if err != nil {
		return err
	}
	cfg.Ledger = book
	w, err := tpcc.New(ctx, cfg)
	if err == nil {
		r := loadview.Report{Server: &about, Options: loadview.TPCCOptions(cfg, f.compat).Ledger(f.book)}
		if cfg.Compat {
			r.Warnings = tpcc.Peculiarities()
		}
		err = a.measure(ctx, w, o, &f.drive, r, func(r *loadview.Report) { r.TPCC(cfg) })
	}
	return errors.Join(err, book.Close())
}
