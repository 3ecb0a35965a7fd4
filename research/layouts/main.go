// Command layouts holds the contest of layouts: is what plumb provision makes as fast as what others advise
// for a database on ZFS, and as ext4?
//
//	go run -C research ./layouts -write          write experiments/layouts/*.yaml, and ask provision's rules for its arm
//	go run -C research ./layouts -run            run what the ledger lacks, on zfs-fuse or the OpenZFS of this machine
//	go run -C research ./layouts -run -vm        run the cells of OpenZFS in a virtual machine
//	go run -C research ./layouts -run -short     the crash-safe arms alone, measured for less time: figures with wider intervals
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

	"plumb/internal/lab/experiment"
	"plumb/research/openzfs"
	"plumb/research/trials"
)

// contest is what the command line says.
type contest struct {
	trials.Contest
	tapes string
	form  form
	vm    bool
}

func main() {
	var c contest
	c.Flags("layouts", "layouts", "mariadb-*; without it those of zfs-fuse, or with -vm of OpenZFS")
	flag.BoolFunc("short", "the crash-safe arms alone, measured for less time: figures with wider intervals, within the hour", c.take(short))
	flag.BoolFunc("small", "little data, one block, seconds: to see that it runs, not for figures", c.take(small))
	flag.BoolVar(&c.vm, "vm", false, "run in a virtual machine with OpenZFS 2.3; the ledger is then a directory for each cell")
	flag.StringVar(&c.tapes, "tapes", "../fixtures", "directory of the captured hosts that provision's rules are asked about")
	trials.Main("layouts", func(ctx context.Context) error { return c.settled().do(ctx) })
}

// take is what a flag does that asks for a form.
func (c *contest) take(f form) func(string) error {
	return func(string) error {
		if c.form != whole && c.form != f {
			return errors.New("-short and -small cannot be combined")
		}
		c.form = f
		return nil
	}
}

// settled fills in what depends on other flags. A trial in small leaves the experiments and the ledger of the others
// alone.
func (c contest) settled() contest {
	if c.form == small {
		c.Ledger += "-small"
		c.Experiments = c.Ledger + ".d"
	}
	if c.Only == "" && c.Run {
		c.Only = map[bool]string{true: "*-openzfs*", false: "*-fuse*"}[c.vm]
	}
	return c
}

func (c contest) do(ctx context.Context) error {
	switch {
	case c.Job == (trials.Job{}):
		return errors.New("nothing to do: give -write, -run, -keep or -table")
	case c.IsKept && (c.Run || c.Keep):
		return errors.New("-kept is for -table alone: the others read the ledger")
	case c.form == small && (c.Keep || c.IsKept):
		return errors.New("-small is not kept: its figures tell nothing")
	}
	if c.Write || c.form == small && c.Run {
		if err := c.write(ctx); err != nil {
			return err
		}
	}
	var err error
	if c.Run {
		err = c.run(ctx)
	}
	return errors.Join(err, c.show(context.WithoutCancel(ctx))) // also what was run until somebody interrupted it
}

// show keeps what was run, and prints its tables.
func (c contest) show(ctx context.Context) error {
	if c.Keep {
		if err := c.each(ctx, c.keep); err != nil {
			return err
		}
	}
	if !c.Table {
		return nil
	}
	text, err := c.table(ctx)
	fmt.Print(text)
	return err
}

// keep copies the trials of a cell that is done to where the experiments are.
func (c contest) keep(_ cell, x experiment.Experiment, records []experiment.Record, _ bool) error {
	return c.Put(x, records)
}

// chosen are the cells that -only names.
func (c contest) chosen() ([]cell, error) { return trials.Choose(cells(c.form), cell.name, c.Only) }

// run carries out what the ledger lacks, one cell after another. What was begun goes on where it was.
func (c contest) run(ctx context.Context) error {
	return c.over(func(cell cell, x experiment.Experiment) error {
		if c.vm {
			return openzfs.Fill(ctx, c.Plumb, c.Ledger, c.file(cell), x)
		}
		return c.Fill(ctx, x, c.file(cell), false)
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
	if c.vm {
		c.Ledger = openzfs.Ledger(c.Ledger, x)
	}
	store, err := c.Store(ctx)
	if err != nil {
		return nil, false, err
	}
	defer store.Close()
	return store.Of(ctx, x)
}
