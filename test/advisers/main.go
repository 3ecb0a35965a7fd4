// Command advisers holds the contest of advisers: whose advice makes a
// database fastest? It writes the experiments of the contest from the
// advisers' formulas, runs those that are missing, and prints the table.
//
//	go run ./test/advisers -write   write experiments/advisers/*.yaml
//	go run ./test/advisers -run     run what the ledger lacks, most telling first
//	go run ./test/advisers -table   print the contest's table as Markdown
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
)

// contest is what the command line says.
type contest struct {
	plumb       string
	experiments string
	ledger      string
	dir         string
	only        string
}

func main() {
	var c contest
	write := flag.Bool("write", false, "write the experiments")
	run := flag.Bool("run", false, "run what the ledger lacks")
	table := flag.Bool("table", false, "print the table")
	flag.StringVar(&c.plumb, "plumb", "./plumb", "the plumb binary")
	flag.StringVar(&c.experiments, "experiments", "experiments/advisers", "directory of the experiments")
	flag.StringVar(&c.ledger, "ledger", ".cache/contest", "the ledger, as of plumb lab run")
	flag.StringVar(&c.dir, "dir", "/var/tmp", "make volumes below this directory")
	flag.StringVar(&c.only, "only", "", "only cells whose name has this pattern, such as mariadb-*-gp3")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.do(ctx, *write, *run, *table); err != nil {
		fmt.Fprintln(os.Stderr, "advisers:", err)
		os.Exit(1)
	}
}

func (c contest) do(ctx context.Context, write, run, table bool) error {
	if !write && !run && !table {
		return errors.New("nothing to do: give -write, -run or -table")
	}
	if write {
		ours, err := readPlumb()
		if err != nil {
			return err
		}
		if err := c.write(ours); err != nil {
			return err
		}
	}
	var err error
	if run {
		err = c.run(ctx)
	}
	if !table {
		return err
	}
	text, tableErr := c.table(context.WithoutCancel(ctx)) // also of what was run until somebody interrupted it
	fmt.Print(text)
	return errors.Join(err, tableErr)
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
func (c contest) chosen() (all []cell, err error) {
	for _, cell := range cells() {
		fits := true
		if c.only != "" {
			if fits, err = filepath.Match(c.only, cell.name()); err != nil {
				return nil, fmt.Errorf("-only %s: %w", c.only, err)
			}
		}
		if fits {
			all = append(all, cell)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("-only %s fits no cell: they are called %s", c.only, cells()[0].name())
	}
	return all, nil
}
