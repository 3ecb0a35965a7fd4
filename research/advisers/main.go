// Command advisers holds the contest of advisers: whose advice makes a
// database fastest? It writes the experiments of the contest from the
// advisers' formulas, runs those that are missing, and prints the table.
//
//	go run -C research ./advisers -write   write experiments/advisers/*.yaml
//	go run -C research ./advisers -run     run what the ledger lacks, most telling first
//	go run -C research ./advisers -table   print the contest's table as Markdown
//	go run -C research ./advisers -keep    keep the trials of the cells that are done beside the experiments
//	go run -C research ./advisers -table -kept   print the table of those
//	go run -C research ./advisers -search -only CELL   measure Plumb's advice beside configurations at random
//
// What Plumb itself advises is in plumb.yaml; a test asks it anew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"plumb/research/trials"
)

// contest is what the command line says.
type contest struct {
	trials.Contest
	search bool
}

func main() {
	var c contest
	c.Flags("advisers", "contest", "mariadb-*-gp3")
	flag.BoolVar(&c.search, "search", false, "measure Plumb's advice beside configurations at random")
	trials.Main("advisers", func(ctx context.Context) error { return c.do(ctx) })
}

func (c contest) do(ctx context.Context) error {
	if c.Job == (trials.Job{}) && !c.search {
		return errors.New("nothing to do: give -write, -run, -search, -keep or -table")
	}
	if c.IsKept && (c.Run || c.search || c.Keep) {
		return errors.New("-kept is for -table alone: the others read the ledger")
	}
	if c.Write {
		ours, err := readPlumb()
		if err != nil {
			return err
		}
		if err := c.write(ours); err != nil {
			return err
		}
	}
	var err error
	if c.Run {
		err = c.run(ctx)
	}
	if c.search && err == nil {
		err = c.searchAll(ctx)
	}
	return errors.Join(err, c.show(context.WithoutCancel(ctx))) // also what was run until somebody interrupted it
}

// show keeps what was run, and prints its table.
func (c contest) show(ctx context.Context) error {
	if c.Keep {
		if err := c.keep(ctx); err != nil {
			return err
		}
	}
	if !c.Table {
		return nil
	}
	text, err := c.table(ctx)
	if err != nil {
		return err
	}
	found, err := c.searches(ctx)
	fmt.Print(text, "\n", found)
	return err
}

// write replaces the experiment files.
func (c contest) write(ours advised) error {
	if err := os.MkdirAll(c.Experiments, 0o755); err != nil {
		return err
	}
	for _, cell := range cells() {
		if err := os.WriteFile(c.file(cell), text(cell, ours), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c contest) file(cell cell) string { return c.File(cell.name()) }

// chosen are the cells that -only names, most telling first.
func (c contest) chosen() ([]cell, error) { return trials.Choose(cells(), cell.name, c.Only) }
