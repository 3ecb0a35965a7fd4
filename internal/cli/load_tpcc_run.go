package cli

import (
	"context"
	"strconv"

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
	book, err := openBook(ctx, cfg.Server, f.book, durability.Header{Target: about.Address + " " + about.Database, Seed: o.Seed, Workload: "tpcc"})
	if err != nil {
		return err
	}
	cfg.Ledger = book
	w, err := tpcc.New(ctx, cfg)
	if err == nil {
		r := loadview.Report{Server: &about, Options: f.shown(cfg)}
		if cfg.Compat {
			r.Warnings = tpcc.Peculiarities()
		}
		err = a.measure(ctx, w, o, &f.drive, r, func(r *loadview.Report) { r.TPCC(cfg) })
	}
	return closeBook(book, err)
}

// shown are the options that decide what a run does.
func (f *tpccCommand) shown(cfg tpcc.Config) []loadview.Option {
	list := []loadview.Option{{Name: "scale", Value: strconv.FormatInt(cfg.Warehouses, 10)}}
	if cfg.Compat {
		list = append(list, loadview.Option{Name: "compat", Value: f.compat}, loadview.Option{Name: "tables", Value: strconv.Itoa(cfg.Sets)})
	}
	for _, o := range []struct {
		name string
		on   bool
	}{{"enable-purge", cfg.Purge}, {"keying", cfg.Keying}} {
		if o.on {
			list = append(list, loadview.Option{Name: o.name, Value: "on"})
		}
	}
	if f.book != "" {
		list = append(list, loadview.Option{Name: "ledger", Value: f.book})
	}
	return list
}
