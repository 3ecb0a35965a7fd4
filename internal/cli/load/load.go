// Package load is the commands that benchmark a server or a disk: one file each.
package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/load/oltp"
	"plumb/internal/units"
)

const exits = `Exit codes:
  0  done, also if the result has warnings
  1  --strict, and the result has warnings; or check or verify found something wrong
  2  the command line is wrong
  3  it could not be done, or did not finish`

// Adapters are the servers that load knows.
type Adapters struct {
	Server func(engine string, l load.Login) load.Server // makes one, and does not connect
	Fakes  []load.Target                                 // what calibrate measures without a server
}

// verbs are the commands, with what they need of the process.
type verbs struct {
	*shell.Shell
	Adapters
}

// Command makes plumb load and what is below it.
func Command(s *shell.Shell, a Adapters) *cobra.Command {
	v := &verbs{s, a}
	c := &cobra.Command{
		Use:   "load",
		Short: "benchmark a server or a disk",
		Long: `Load makes tables or files, puts them under load, and reports what it measured: the
rate, how long each operation took, how certain that is, and what casts doubt on
the result. It changes what it is pointed at: prepare makes tables or files, run
writes to them, cleanup removes what prepare made and nothing else.

oltp has sysbench's scripts, tables and options; fileio its modes. tpcc is modelled
on TPC-C, but is not TPC-C. Three things differ from other tools:
  --rate N        an open loop: operations are due at fixed times, and a slow
                  server does not slow the generator down. Response times count
                  from when an operation was due.
  --warmup 30s    is left out of the result; --warmup steady waits until the rate
                  is steady.
  warnings        a result that was limited by the generator, disturbed by a stall,
                  or cut short says so.`,
		Example: `  plumb load oltp read_write prepare --mysql-socket=/run/mysqld/mysqld.sock --tables=4 --table-size=1000000
  plumb load oltp read_write run --threads=16 --time=300 --interval=1
  plumb load oltp point_select run --dsn postgres://bench@db1/sbtest --rate 5000
  plumb load tpcc prepare --scale 100 --threads 8 --dsn mysql://bench@db1/tpcc
  plumb load fileio run --file-test-mode=rndrd --threads 1,4,16,64,256
  plumb load fsync /var/lib/mysql`,
		Args: v.noSuchLoad,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(v.oltp(), v.tpcc(), v.fileio(), v.fsync(), v.verify(), v.calibrate())
	return c
}

// noSuchLoad refuses what is not a workload, and recognises scripts without "oltp" before them.
func (v *verbs) noSuchLoad(c *cobra.Command, args []string) error {
	if len(args) > 0 && slices.Contains(oltp.Scripts(), oltp.ScriptNamed(args[0])) {
		return hint.Usage(fmt.Sprintf("there is no command %q", args[0]), "did you mean plumb load oltp "+strings.Join(args, " ")+"?")
	}
	return v.NoSuchCommand(c, args)
}

// action is one of the words that say what to do with a workload.
func action(c *cobra.Command, word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return hint.Usage(fmt.Sprintf("%s cannot %q", c.CommandPath(), word), meantOr(word, known))
}

// meantOr suggests what a word was meant to be, or lists what it can be.
func meantOr(word string, known []string) string {
	return cmp.Or(hint.Meant(word, known), "use "+hint.OneOf(known))
}

// oneAction wants the one word that says what to do.
func oneAction(known ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return hint.Usage(fmt.Sprintf("%s needs to know what to do, got %s", c.CommandPath(), units.Count(len(args), "word")), "use "+hint.OneOf(known))
		}
		return action(c, args[0], known...)
	}
}
