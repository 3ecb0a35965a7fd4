package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/research/trials"
)

// What is to be reached: see the contest's issue.
const (
	starvedGoal = 2.9  // times the default, on a volume that starves it
	bestGoal    = 1.15 // times the best of the others
	boundShare  = 0.90 // of the processors: more cannot be got out of them
)

// row is one cell of the contest.
type row struct {
	cell    cell
	report  report.Report
	known   bool   // it has trials that count
	instead string // why there are none
}

// table prints all cells, and what they come to.
func (c contest) table(ctx context.Context) (string, error) {
	var all []row
	err := c.each(ctx, func(cell cell, x experiment.Experiment, records []experiment.Record, older bool) error {
		all = append(all, newRow(cell, x, records, older))
		return nil
	})
	if err != nil {
		return "", err
	}
	return markdown(all), nil
}

// each gives the cells that were chosen, with their trials.
func (c contest) each(ctx context.Context, do func(cell cell, x experiment.Experiment, records []experiment.Record, older bool) error) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	store, err := c.Store(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, cell := range chosen {
		x, err := c.experiment(cell)
		if err != nil {
			return err
		}
		records, older, err := store.Of(ctx, x)
		if err != nil {
			return err
		}
		if err := do(cell, x, records, older); err != nil {
			return err
		}
	}
	return nil
}

// experiment reads the file of a cell.
func (c contest) experiment(cell cell) (experiment.Experiment, error) {
	return trials.Read(c.file(cell))
}

// newRow judges the trials of a cell; older tells that there are only such as
// had other arms.
func newRow(cell cell, x experiment.Experiment, records []experiment.Record, older bool) row {
	r := row{cell: cell, report: report.Make(x, records), instead: "not run"}
	switch {
	case r.plumb().Trials > 0 && slices.ContainsFunc(r.report.Verdicts, func(v report.Comparison) bool { return v.Effect.N > 0 }):
		r.known = true
	case len(records) > 0:
		r.instead = "begun"
	case older:
		r.instead = "not run since its arms changed"
	}
	return r
}

func markdown(all []row) string {
	var b strings.Builder
	b.WriteString("| cell | Plumb, transactions/s | times the default | times the best other | others | loses to | two processors |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		b.WriteString(r.line() + "\n")
	}
	return b.String() + "\n" + sum(all)
}

// line is one line of the table.
func (r row) line() string {
	if !r.known {
		return fmt.Sprintf("| %s | %s | | | | | |", r.cell.name(), r.instead)
	}
	plumb, name := r.plumb(), r.cell.name()
	if !r.report.Complete {
		name += fmt.Sprintf(" (%d so far)", r.report.Done)
	}
	best, who := r.best()
	times := best.text()
	if best.same {
		times += " as"
	}
	if who != "" {
		times += " " + who
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", name, trials.Value(plumb.Metric), r.against(byDefault).text(), times, r.opponents(), r.losses(), r.bound().text())
}
