package load

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/oltp"
	"plumb/internal/units"
	view "plumb/internal/view/load"
)

// oltpCommand is what one call of plumb load oltp was told.
type oltpCommand struct {
	login
	drive
	oltp.Config
	dataSeed uint64
	book     string
	verify   string
}

func (v *verbs) oltp() *cobra.Command {
	f := oltpCommand{Config: oltp.Defaults()}
	c := &cobra.Command{
		Use:   "oltp SCRIPT prepare|run|warmup|cleanup",
		Short: "run sysbench's scripts on MySQL, MariaDB and PostgreSQL",
		Long: join2(`Oltp runs the scripts of sysbench, with its tables and its options under its names:
  read_write  read_only  write_only  point_select  insert  delete
  update_index  update_non_index  (all also with oltp_ before them)
  select_random_points  select_random_ranges  bulk_insert

prepare makes and fills the tables, or continues where it was killed; run measures;
warmup reads the tables once; cleanup drops what prepare made.`,
			loginHelp, oltpHelp, driveHelp, exits),
		Example: `  plumb load oltp read_write prepare --mysql-socket=/run/mysqld/mysqld.sock --mysql-user=root --tables=4 --table-size=1000000
  plumb load oltp read_write run --mysql-socket=/run/mysqld/mysqld.sock --mysql-user=root --tables=4 --table-size=1000000 --threads=16 --time=60
  plumb load oltp point_select run --dsn postgres://bench@db1/sbtest --threads 64 --rate 5000 --warmup steady --json
  plumb load oltp write_only run --ledger /mnt/other/run1.ledger --isolation RC`,
		Args:              oltpArgs,
		ValidArgsFunction: oltpWords,
		RunE:              func(c *cobra.Command, args []string) error { return v.runOLTP(c, args, &f) },
	}
	f.login.flags(c)
	f.drive.flags(c)
	oltpFlags(c, &f.Config)
	c.Flags().Uint64Var(&f.dataSeed, "data-seed", 1, "the same `SEED` gives the same rows")
	c.Flags().StringVar(&f.book, "ledger", "", "record every acknowledged commit in `FILE`, for plumb load verify after a crash")
	c.Flags().StringVar(&f.verify, "verify", "counts", "after prepare check `WHAT`: counts, content or nothing")
	hide(c, "data-seed", "verify")
	sysbenchNames(c, &f.drive.notes)
	return c
}

func oltpActions() []string { return []string{"prepare", "run", "warmup", "cleanup"} }

func oltpArgs(c *cobra.Command, args []string) error {
	if len(args) != 2 {
		return hint.Usage(fmt.Sprintf("%s needs a script and what to do with it, got %s", c.CommandPath(), units.Count(len(args), "word")),
			"such as: plumb load oltp read_write run")
	}
	if script := oltp.ScriptNamed(args[0]); !slices.Contains(oltp.Scripts(), script) {
		help := hint.Meant(script, slices.Concat(oltp.Scripts(), oltp.ShortScripts()))
		return hint.Usage(fmt.Sprintf("there is no script %q", args[0]), cmp.Or(help, "use "+hint.OneOf(oltp.ShortScripts())))
	}
	return action(c, args[1], oltpActions()...)
}

// oltpWords completes the script and what to do.
func oltpWords(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return shell.Words(oltp.ShortScripts).Complete(c, args, typed)
	case 1:
		return shell.Words(oltpActions).Complete(c, args, typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (v *verbs) runOLTP(c *cobra.Command, args []string, f *oltpCommand) error {
	v.note(f.drive.notes)
	dist, err := distribution(f.Config)
	if err != nil {
		return err
	}
	if err := f.oneThreads(); err != nil {
		return err
	}
	o, err := f.drive.options(c)
	if err != nil {
		return err
	}
	s, err := v.server(&f.login, c.Flags().Changed)
	if err != nil {
		return err
	}
	cfg := f.Config
	cfg.Script, cfg.Seed, cfg.Sessions, cfg.Text = oltp.ScriptNamed(args[0]), o.Seed, o.Threads, f.text == "disable"
	switch args[1] {
	case "prepare":
		cfg.Seed = f.dataSeed
		o, err := v.fillOptions(&f.drive, f.verify)
		if err != nil {
			return err
		}
		r, err := oltp.Prepare(c.Context(), s, cfg, o)
		return v.prepared("oltp", r, err)
	case "warmup":
		if err := oltp.Warm(c.Context(), s, cfg); err != nil {
			return err
		}
		return v.Print(view.Warmed(cfg.Script, cfg.Tables) + "\n")
	case "cleanup":
		return v.cleaned(oltp.Cleanup(c.Context(), s))
	}
	shown := view.OLTPOptions(cfg, dist.String(), f.text).Ledger(f.book)
	return v.drive(c.Context(), s, &f.drive, o, workload{cfg.Script, f.book, func(book *durability.Ledger, r *view.Report) (load.Workload, func(*view.Report), error) {
		cfg.Ledger, r.Options, r.Warnings = book, shown, cfg.Warnings()
		w, err := oltp.New(s, cfg)
		return w, nil, err
	}})
}
