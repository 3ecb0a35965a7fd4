package load

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/tpcc"
	view "plumb/internal/view/load"
)

// tpccCommand is what one call of plumb load tpcc was told.
type tpccCommand struct {
	login
	drive
	tpcc.Config
	compat string
	book   string
	verify string
	fresh  bool
}

func (v *verbs) tpcc() *cobra.Command {
	var f tpccCommand
	c := &cobra.Command{
		Use:   "tpcc prepare|run|check|cleanup",
		Short: "run an order-entry workload modelled on TPC-C",
		Long: join2(`Tpcc runs orders, payments and deliveries of a company with warehouses, as the
TPC-C specification describes them: skewed customers and items, remote warehouses,
intended rollbacks. It is not TPC-C, and its results are not tpmC: they are new
orders a minute.

prepare makes and fills the tables, or continues where it was killed; run measures
and audits the mix; check looks at the specification's consistency conditions;
cleanup drops what prepare made. With --keying the threads are people, ten to a
warehouse, who type and think. --compat sysbench-tpcc does what Percona's script
does, with its peculiarities; the two never share a table.`,
			loginHelp,
			`Also: --data-seed for the rows, --verify, and sysbench-tpcc's --tables --use-fk
--enable-purge --trx-level.`, driveHelp, exits),
		Example: `  plumb load tpcc prepare --scale 100 --threads 8 --dsn postgres://bench@db1/tpcc
  plumb load tpcc run --scale 100 --threads 64 --time 30m --warmup steady --dsn postgres://bench@db1/tpcc
  plumb load tpcc check --scale 100 --dsn postgres://bench@db1/tpcc`,
		Args:      oneAction("prepare", "run", "check", "cleanup"),
		ValidArgs: []string{"prepare", "run", "check", "cleanup"},
		RunE:      func(c *cobra.Command, args []string) error { return v.runTPCC(c, args[0], &f) },
	}
	f.login.flags(c)
	f.drive.flags(c)
	f.flags(c)
	sysbenchNames(c, &f.drive.notes)
	return c
}

func (f *tpccCommand) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.Int64Var(&f.Warehouses, "scale", 1, "`N` warehouses of about 70 MB each; also --warehouses")
	fl.StringVar(&f.compat, "compat", "", "behave like the tool `NAME`: sysbench-tpcc")
	fl.BoolVar(&f.Keying, "keying", false, "simulate people at terminals: keying and think times between transactions")
	fl.StringVar(&f.book, "ledger", "", "record every acknowledged commit in `FILE`, for plumb load verify after a crash")
	fl.BoolVar(&f.fresh, "fresh", false, "for check: nothing has run since prepare, so condition 11 must hold too")
	fl.IntVar(&f.Sets, "tables", 1, "copies of the tables, with --compat")
	f.ForeignKeys = true
	onOff(c, &f.ForeignKeys, "use-fk", "declare foreign keys; without --compat off by default")
	onOff(c, &f.Purge, "enable-purge", "as in sysbench-tpcc, with --compat")
	fl.Uint64Var(&f.Seed, "data-seed", 1, "the same `SEED` gives the same rows")
	fl.StringVar(&f.verify, "verify", "counts", "after prepare check `WHAT`: counts, content or nothing")
	hide(c, "tables", "use-fk", "enable-purge", "data-seed", "verify")
	shell.Offer(c, map[string]shell.Words{"compat": func() []string { return []string{"sysbench-tpcc"} }})
}

func (f *tpccCommand) validate(c *cobra.Command) error {
	changed := c.Flags().Changed
	switch {
	case f.compat != "" && f.compat != "sysbench-tpcc":
		return hint.Usage("--compat "+f.compat+" is not known", "use sysbench-tpcc")
	case f.Warehouses < 1:
		return hint.Usage(fmt.Sprintf("--scale %d makes no warehouse", f.Warehouses), "give 1 or more")
	case f.compat == "" && (changed("tables") && f.Sets != 1 || f.Purge):
		return hint.Usage("--tables and --enable-purge belong to sysbench-tpcc", "give --compat sysbench-tpcc too")
	case f.Keying && f.compat != "":
		return hint.Usage("sysbench-tpcc has no --keying", "leave one of them out")
	}
	if f.compat == "" && !changed("use-fk") {
		f.ForeignKeys = false
	}
	return f.oneThreads()
}

func (v *verbs) runTPCC(c *cobra.Command, what string, f *tpccCommand) error {
	v.note(f.drive.notes)
	if err := f.validate(c); err != nil {
		return err
	}
	o, err := f.drive.options(c)
	if err != nil {
		return err
	}
	if f.compat != "" && f.isolate == "" {
		f.isolate = "RR" // as there
	}
	s, err := v.server(&f.login, c.Flags().Changed)
	if err != nil {
		return err
	}
	cfg := f.Config
	cfg.Server, cfg.Compat = s, f.compat != ""
	switch what {
	case "prepare":
		o, err := v.fillOptions(&f.drive, f.verify)
		if err != nil {
			return err
		}
		r, err := tpcc.Prepare(c.Context(), cfg, o)
		return v.prepared("tpcc", r, err)
	case "check":
		return v.checkTPCC(c.Context(), cfg, f)
	case "cleanup":
		return v.cleaned(tpcc.Cleanup(c.Context(), cfg))
	}
	if cfg.Keying && !f.threadsGiven { // as many threads as terminals
		o.Threads = cfg.Terminals()
	}
	cfg.Run, cfg.Sessions = o.Seed, o.Threads
	return v.drive(c.Context(), s, &f.drive, o, workload{"tpcc", f.book, func(book *durability.Ledger, r *view.Report) (load.Workload, func(*view.Report), error) {
		cfg.Ledger, r.Options = book, view.TPCCOptions(cfg, f.compat).Ledger(f.book)
		if cfg.Compat {
			r.Warnings = tpcc.Peculiarities()
		}
		w, err := tpcc.New(c.Context(), cfg)
		return w, func(r *view.Report) { r.TPCC(cfg) }, err
	}})
}

func (v *verbs) checkTPCC(ctx context.Context, cfg tpcc.Config, f *tpccCommand) error {
	r, err := tpcc.Check(ctx, cfg, tpcc.CheckOptions{Fresh: f.fresh})
	if err != nil {
		return err
	}
	if err := v.Answer(f.json, view.TPCCCheckDocument(r, shell.Version()), view.TPCCCheck(r, shell.Screen(v.Out))); err != nil {
		return err
	}
	if len(r.Broken()) > 0 {
		return shell.ErrFound
	}
	return nil
}
