package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/oltp"
	loadview "plumb/internal/view/load"
)

// oltpCommand is what one call of plumb load oltp was told.
type oltpCommand struct {
	login
	drive
	oltpFlags
	book   string
	verify string
}

func (a *app) loadOLTP() *cobra.Command {
	var f oltpCommand
	c := &cobra.Command{
		Use:   "oltp SCRIPT prepare|run|warmup|cleanup",
		Short: "sysbench's scripts, on MySQL, MariaDB and PostgreSQL",
		Long: join2(`The scripts of sysbench, with its tables and its options under its names:
  read_write  read_only  write_only  point_select  insert  delete
  update_index  update_non_index  (all also with oltp_ before them)
  select_random_points  select_random_ranges  bulk_insert

prepare makes and fills the tables, or goes on where it was killed; run measures;
warmup reads the tables once; cleanup drops what prepare made.`,
			loginHelp, oltpHelp, driveHelp, loadExitTable),
		Example: `  plumb load oltp read_write prepare --mysql-socket=/run/mysqld/mysqld.sock --mysql-user=root --tables=4 --table-size=1000000
  plumb load oltp read_write run --mysql-socket=/run/mysqld/mysqld.sock --mysql-user=root --tables=4 --table-size=1000000 --threads=16 --time=60
  plumb load oltp point_select run --dsn postgres://bench@db1/sbtest --threads 64 --rate 5000 --warmup steady --json
  plumb load oltp write_only run --ledger /mnt/other/run1.ledger --isolation RC`,
		Args:              oltpArgs,
		ValidArgsFunction: oltpWords,
		RunE:              func(c *cobra.Command, args []string) error { return a.runOLTP(c, args, &f) },
	}
	f.login.flags(c)
	f.drive.flags(c)
	f.oltpFlags.flags(c)
	c.Flags().StringVar(&f.book, "ledger", "", "note every acknowledged commit in `FILE`, for plumb load verify after a crash")
	c.Flags().StringVar(&f.verify, "verify", "counts", "after prepare check `WHAT`: counts, content or nothing")
	hide(c, "verify")
	sysbenchNames(c, &f.drive.notes)
	return c
}

func oltpActions() []string { return []string{"prepare", "run", "warmup", "cleanup"} }

func oltpArgs(c *cobra.Command, args []string) error {
	if len(args) != 2 {
		return hint.Usage(fmt.Sprintf("%s wants a script and what to do with it, got %d words", c.CommandPath(), len(args)),
			"such as: plumb load oltp read_write run")
	}
	if script := oltp.ScriptNamed(args[0]); !slices.Contains(oltp.Scripts(), script) {
		help := hint.Meant(script, slices.Concat(oltp.Scripts(), oltp.ShortScripts()))
		if help == "" {
			help = "want " + hint.OneOf(oltp.ShortScripts())
		}
		return hint.Usage(fmt.Sprintf("there is no script %q", args[0]), help)
	}
	return action(c, args[1], oltpActions()...)
}

// oltpWords completes the script and what to do.
func oltpWords(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return words(oltp.ShortScripts).complete(c, args, typed)
	case 1:
		return words(oltpActions).complete(c, args, typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) runOLTP(c *cobra.Command, args []string, f *oltpCommand) error {
	script, what := oltp.ScriptNamed(args[0]), args[1]
	a.note(f.drive.notes)
	if _, err := f.dist.named(); err != nil {
		return err
	}
	if err := f.oneThreads(); err != nil {
		return err
	}
	o, err := f.drive.options(c)
	if err != nil {
		return err
	}
	s, err := f.login.server(c.Flags().Changed)
	if err != nil {
		return err
	}
	cfg := f.config(script, o)
	switch what {
	case "prepare":
		cfg.Seed = f.dataSeed
		return a.prepareOLTP(c.Context(), s, cfg, f)
	case "warmup":
		if err := oltp.Warm(c.Context(), s, cfg); err != nil {
			return err
		}
		return a.print(loadview.Warmed(script, cfg.Tables) + "\n")
	case "cleanup":
		return a.cleaned(oltp.Cleanup(c.Context(), s))
	}
	return a.driveOLTP(c.Context(), s, cfg, o, f)
}

// config maps the options to those of the workload.
func (f *oltpCommand) config(script string, o load.Options) oltp.Config {
	return oltp.Config{Script: script, Seed: o.Seed, Tables: f.tables, TableSize: f.tableSize, RangeSize: int64(f.rangeSize),
		PointSelects: f.pointSelects, SimpleRanges: f.simpleRanges, SumRanges: f.sumRanges, OrderRanges: f.orderRanges,
		Distinct: f.distinctRanges, IndexUpdates: f.indexUpdates, NonIndex: f.nonIndexUpdates, DeleteInsert: f.deleteInserts,
		RangeSelects: bool(f.rangeSelects), SkipTrx: bool(f.skipTrx), RandomPoints: f.randomPoints, Ranges: f.numberOfRanges,
		Delta: int64(f.delta), RandType: f.dist.name, Shape: f.dist.shape, AutoInc: bool(f.autoInc), Secondary: bool(f.secondary),
		CreateSecondary: bool(f.createSecondary), Engine: f.engine, TableOptions: f.tableOptions, Sessions: o.Threads, Text: f.text == "disable"}
}

func (a *app) prepareOLTP(ctx context.Context, s load.Server, cfg oltp.Config, f *oltpCommand) error {
	o, err := f.drive.fillOptions(a, f.verify)
	if err != nil {
		return err
	}
	r, err := oltp.Prepare(ctx, s, cfg, o)
	return a.prepared("oltp", r, err)
}

func (a *app) driveOLTP(ctx context.Context, s load.Server, cfg oltp.Config, o load.Options, f *oltpCommand) error {
	about, err := s.About(ctx)
	if err != nil {
		return err
	}
	book, err := durability.Begin(ctx, s, f.book, durability.Header{Target: about.Address + " " + about.Database, Seed: o.Seed, Workload: cfg.Script})
	if err != nil {
		return err
	}
	cfg.Ledger = book
	w, err := oltp.New(s, cfg)
	if err == nil {
		err = a.measure(ctx, w, o, &f.drive, loadview.Report{Server: &about, Options: f.shown(cfg), Warnings: cfg.Warnings()}, nil)
	}
	return errors.Join(err, book.Close())
}

// shown are the options that decide what a run does.
func (f *oltpCommand) shown(cfg oltp.Config) loadview.Options {
	dist, _ := f.dist.named() // it was made before
	return loadview.OLTPOptions(cfg, dist.String(), f.text).Ledger(f.book)
}
