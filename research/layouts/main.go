// Command layouts holds the contest of layouts: is what plumb provision makes as fast as what others advise
// for a database on ZFS, and as ext4?
//
//	go run -C research ./layouts -write          write experiments/layouts/*.yaml, and ask provision's rules for its arm
//	go run -C research ./layouts -run            run what the ledger lacks, on zfs-fuse or the OpenZFS of this machine
//	go run -C research ./layouts -run -vm        run the cells of OpenZFS in a virtual machine
//	go run -C research ./layouts -run -small     the same with little data and one block, in minutes, to see that it runs
//	go run -C research ./layouts -table          print the contest's tables as Markdown
//	go run -C research ./layouts -keep           keep the trials of the cells that are done beside the experiments
//	go run -C research ./layouts -table -kept    print the tables of those
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/research/trials"
)

// contest is what the command line says.
type contest struct {
	plumb       string
	experiments string
	ledger      string
	dir         string
	tapes       string
	only        string
	kept        bool
	small       bool
	vm          bool
}

// job is what it is to do.
type job struct{ write, run, keep, table bool }

func main() {
	var c contest
	var j job
	flag.BoolVar(&j.write, "write", false, "write the experiments")
	flag.BoolVar(&j.run, "run", false, "run what the ledger lacks")
	flag.BoolVar(&j.keep, "keep", false, "keep the trials of the cells that are done beside the experiments")
	flag.BoolVar(&j.table, "table", false, "print the tables")
	flag.BoolVar(&c.kept, "kept", false, "print the tables of what is kept, in place of the ledger's")
	flag.BoolVar(&c.small, "small", false, "little data, one block, seconds: to see that it runs, not for figures")
	flag.BoolVar(&c.vm, "vm", false, "run in a virtual machine with OpenZFS 2.3")
	flag.StringVar(&c.plumb, "plumb", "../plumb", "the plumb binary")
	flag.StringVar(&c.experiments, "experiments", "../experiments/layouts", "directory of the experiments")
	flag.StringVar(&c.ledger, "ledger", "../.cache/layouts", "the ledger, as of plumb lab run; with -vm a directory for each cell")
	flag.StringVar(&c.dir, "dir", "/var/tmp", "make volumes below this directory")
	flag.StringVar(&c.tapes, "tapes", "../fixtures", "directory of the captured hosts that provision's rules are asked about")
	flag.StringVar(&c.only, "only", "", "only cells whose name has this pattern, such as mariadb-*; without it those of zfs-fuse, or with -vm of OpenZFS")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.settled(j).do(ctx, j); err != nil {
		fmt.Fprintln(os.Stderr, "layouts:", err)
		os.Exit(1)
	}
}

// settled fills in what depends on other flags. A trial in small leaves the experiments and the ledger of the others
// alone.
func (c contest) settled(j job) contest {
	if c.small {
		c.ledger += "-small"
		c.experiments = c.ledger + ".d"
	}
	if c.only == "" && j.run {
		c.only = map[bool]string{true: "*-openzfs*", false: "*-fuse*"}[c.vm]
	}
	return c
}

func (c contest) do(ctx context.Context, j job) error {
	switch {
	case j == (job{}):
		return errors.New("nothing to do: give -write, -run, -keep or -table")
	case c.kept && (j.run || j.keep):
		return errors.New("-kept is for -table alone: the others read the ledger")
	case c.small && (j.keep || c.kept):
		return errors.New("-small is not kept: its figures tell nothing")
	}
	if j.write || c.small && j.run {
		if err := c.write(ctx); err != nil {
			return err
		}
	}
	var err error
	if j.run {
		err = c.run(ctx)
	}
	return errors.Join(err, c.show(context.WithoutCancel(ctx), j)) // also what was run until somebody interrupted it
}

// show keeps what was run, and prints its tables.
func (c contest) show(ctx context.Context, j job) error {
	if j.keep {
		if err := c.each(ctx, c.keep); err != nil {
			return err
		}
	}
	if !j.table {
		return nil
	}
	text, err := c.table(ctx)
	fmt.Print(text)
	return err
}

// keep copies the trials of a cell that is done to where the experiments are.
func (c contest) keep(_ cell, x experiment.Experiment, records []experiment.Record, _ bool) error {
	if !report.Make(x, records).Complete {
		return nil
	}
	return trials.Kept(c.experiments).Put(x, records)
}

// chosen are the cells that -only names.
func (c contest) chosen() ([]cell, error) { return trials.Choose(cells(c.small), cell.name, c.only) }

// run carries out what the ledger lacks, one cell after another. What was begun goes on where it was.
func (c contest) run(ctx context.Context) error {
	return c.over(func(cell cell, x experiment.Experiment) error {
		if c.vm {
			return c.inVM(ctx, cell, x)
		}
		return trials.Lab{Plumb: c.plumb, Ledger: c.ledger, Dir: c.dir}.Fill(ctx, x, c.file(cell), false)
	})
}

// each gives the cells that were chosen, with their trials.
func (c contest) each(ctx context.Context, do func(cell cell, x experiment.Experiment, records []experiment.Record, older bool) error) error {
	return c.over(func(cell cell, x experiment.Experiment) error {
		records, older, err := c.done(ctx, cell, x)
		if err != nil {
			return err
		}
		return do(cell, x, records, older)
	})
}

// over gives the cells that were chosen, with their experiments.
func (c contest) over(do func(cell cell, x experiment.Experiment) error) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	for _, cell := range chosen {
		x, err := trials.Read(c.file(cell))
		if err == nil {
			err = do(cell, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// done reads the trials of a cell: from the ledger, from that of the virtual machine, or what is kept.
func (c contest) done(ctx context.Context, cell cell, x experiment.Experiment) ([]experiment.Record, bool, error) {
	if c.kept {
		return trials.Kept(c.experiments).Of(ctx, x)
	}
	where := c.ledger
	if c.vm {
		where = c.inside(cell)
	}
	store, err := trials.OpenLedger(ctx, where)
	if err != nil {
		return nil, false, err
	}
	defer store.Close()
	return store.Of(ctx, x)
}
