package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plumb/internal/cli/shell"
)

// renamed are names that sysbench had for an option in older versions, and
// other names that mean one of ours.
func renamed() map[string]string {
	return map[string]string{
		"max-time": "time", "num-threads": "threads", "max-requests": "events", "tx-rate": "rate",
		"oltp-table-size": "table-size", "oltp-tables-count": "tables", "oltp-dist-type": "rand-type",
		"init-rng": "seed", "mysql-table-engine": "mysql-storage-engine", "oltp-auto-inc": "auto-inc",
	}
}

// aliases are other names that are as good.
func aliases() map[string]string {
	return map[string]string{"rand-seed": "seed", "report-interval": "interval", "warmup-time": "warmup", "warehouses": "scale", "workers": "threads", "trx-level": "isolation"}
}

// pointless are options of sysbench that have no meaning here; they are
// accepted so that command lines go on working.
func pointless() []string {
	return []string{"thread-stack-size", "thread-init-timeout", "forced-shutdown", "report-checkpoints", "verbosity", "debug",
		"db-debug", "validate", "luajit-cmd", "histogram"}
}

// sysbenchNames makes a command take sysbench's spellings: table_size for
// table-size, names of older versions, and options that mean nothing here. The
// notes say what was understood.
func sysbenchNames(c *cobra.Command, notes *[]string) {
	fl := c.Flags()
	for _, name := range pointless() {
		if fl.Lookup(name) != nil {
			continue // this command gives it a meaning
		}
		fl.Var(&ignored{name, notes}, name, "")
		fl.Lookup(name).NoOptDefVal = "on"
		fl.Lookup(name).Hidden = true
	}
	old, other := renamed(), aliases()
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		if now, ok := other[name]; ok {
			return pflag.NormalizedName(now)
		}
		if now, ok := old[name]; ok {
			if note := fmt.Sprintf("--%s is called --%s", name, now); !slices.Contains(*notes, note) {
				*notes = append(*notes, note)
			}
			return pflag.NormalizedName(now)
		}
		return pflag.NormalizedName(name)
	})
}

// ignored is an option that is accepted and means nothing.
type ignored struct {
	name  string
	notes *[]string
}

func (i *ignored) String() string { return "" }
func (i *ignored) Type() string   { return "string" }
func (i *ignored) Set(string) error {
	*i.notes = append(*i.notes, fmt.Sprintf("--%s has no meaning here and is ignored", i.name))
	return nil
}

// hide keeps flags out of the help: its text names them in few lines.
func hide(c *cobra.Command, names ...string) {
	for _, n := range names {
		c.Flags().Lookup(n).Hidden = true
	}
}

// note writes the notes on how the command line was understood.
func (v *verbs) note(notes []string) {
	for _, n := range notes {
		fmt.Fprintln(v.Err, "note: "+shell.OneLine(n))
	}
}
