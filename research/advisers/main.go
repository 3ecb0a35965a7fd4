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
	"os/signal"
	"path/filepath"
	"syscall"

	"plumb/research/trials"
)

// contest is what the command line says.
type contest struct {
	plumb       string
	experiments string
	ledger      string
	dir         string
	only        string
	kept        bool
}

// job is what it is to do.
type job struct{ write, run, search, keep, table bool }

func main() {
	var c contest
	var j job
	flag.BoolVar(&j.write, "write", false, "write the experiments")
	flag.BoolVar(&j.run, "run", false, "run what the ledger lacks")
	flag.BoolVar(&j.search, "search", false, "measure Plumb's advice beside configurations at random")
	flag.BoolVar(&j.keep, "keep", false, "keep the trials of the cells that are done beside the experiments")
	flag.BoolVar(&j.table, "table", false, "print the table")
	flag.BoolVar(&c.kept, "kept", false, "print the table of what is kept, in place of the ledger's")
	flag.StringVar(&c.plumb, "plumb", "../plumb", "the plumb binary")
	flag.StringVar(&c.experiments, "experiments", "../experiments/advisers", "directory of the experiments")
	flag.StringVar(&c.ledger, "ledger", "../.cache/contest", "the ledger, as of plumb lab run")
	flag.StringVar(&c.dir, "dir", "/var/tmp", "make volumes below this directory")
	flag.StringVar(&c.only, "only", "", "only cells whose name has this pattern, such as mariadb-*-gp3")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.do(ctx, j); err != nil {
		fmt.Fprintln(os.Stderr, "advisers:", err)
		os.Exit(1)
	}
}

func (c contest) do(ctx context.Context, j job) error {
	if j == (job{}) {
		return errors.New("nothing to do: give -write, -run, -search, -keep or -table")
	}
	if c.kept && (j.run || j.search || j.keep) {
		return errors.New("-kept is for -table alone: the others read the ledger")
	}
	if j.write {
		ours, err := readPlumb()
		if err != nil {
			return err
		}
		if err := c.write(ours); err != nil {
			return err
		}
	}
	var err error
	if j.run {
		err = c.run(ctx)
	}
	if j.search && err == nil {
		err = c.search(ctx)
	}
	return errors.Join(err, c.show(context.WithoutCancel(ctx), j)) // also what was run until somebody interrupted it
}

// show keeps what was run, and prints its table.
func (c contest) show(ctx context.Context, j job) error {
	if j.keep {
		if err := c.keep(ctx); err != nil {
			return err
		}
	}
	if !j.table {
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
	if err := os.MkdirAll(c.experiments, 0o755); err != nil {
		return err
	}
	for _, cell := range cells() {
		if err := os.WriteFile(c.file(cell), text(cell, ours), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c contest) file(cell cell) string { return filepath.Join(c.experiments, cell.name()+".yaml") }

// chosen are the cells that -only names, most telling first.
func (c contest) chosen() ([]cell, error) { return trials.Choose(cells(), cell.name, c.only) }
