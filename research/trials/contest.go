package trials

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// Contest is what the command lines of all contests have.
type Contest struct {
	Job
	Lab
	Experiments string // their directory
	Only        string // cells whose name has this pattern
	IsKept      bool   // the table is of what is kept, in place of the ledger
}

// Job is what is to be done with the cells.
type Job struct{ Write, Run, Keep, Table bool }

// Flags enters the flags. A contest's experiments and ledger have names below those of all; such is a pattern of its cells.
func (c *Contest) Flags(experiments, ledger, such string) {
	flag.BoolVar(&c.Write, "write", false, "write the experiments")
	flag.BoolVar(&c.Run, "run", false, "run what the ledger lacks")
	flag.BoolVar(&c.Keep, "keep", false, "keep the trials of the cells that are done beside the experiments")
	flag.BoolVar(&c.Table, "table", false, "print the tables")
	flag.BoolVar(&c.IsKept, "kept", false, "print the tables of what is kept, in place of the ledger's")
	flag.StringVar(&c.Plumb, "plumb", "../plumb", "the plumb binary")
	flag.StringVar(&c.Experiments, "experiments", "../experiments/"+experiments, "directory of the experiments")
	flag.StringVar(&c.Ledger, "ledger", "../.cache/"+ledger, "the ledger, as of plumb lab run")
	flag.StringVar(&c.Dir, "dir", "/var/tmp", "make volumes below this directory")
	flag.StringVar(&c.Only, "only", "", "only cells whose name has this pattern, such as "+such)
}

// Main carries out what the command line says, until it is done or interrupted.
func Main(name string, do func(context.Context) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// File is where the experiment of a cell is.
func (c Contest) File(cell string) string { return filepath.Join(c.Experiments, cell+".yaml") }

// Store opens the ledger, or what is kept with the experiments.
func (c Contest) Store(ctx context.Context) (Store, error) {
	if c.IsKept {
		return Kept(c.Experiments), nil
	}
	return OpenLedger(ctx, c.Ledger)
}

// Put keeps the trials of a cell that is done where the experiments are.
func (c Contest) Put(x experiment.Experiment, records []experiment.Record) error {
	if !report.Make(x, records).Complete {
		return nil
	}
	return Kept(c.Experiments).Put(x, records)
}
