package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/lab/report"
	"plumb/research/trials"
)

// searches prints, for the cells that were searched at random, Plumb's advice
// beside the best that were found, measured anew: the fastest first.
func (c contest) searches(ctx context.Context) (string, error) {
	chosen, err := c.chosen()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| cell | Plumb, transactions/s | best at random | Plumb, times that | times the second | times the third |\n|---|---|---|---|---|---|\n")
	for _, cell := range chosen {
		r, err := c.finals(ctx, cell)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		b.WriteString(searchLine(cell, r) + "\n")
	}
	return b.String(), nil
}

// finals reads what is kept of the second half of a search.
func (c contest) finals(ctx context.Context, cell cell) (report.Report, error) {
	dir := c.searchDir()
	x, err := trials.Read(filepath.Join(string(dir), searchName(cell)+ofBest+".yaml"))
	if err != nil {
		return report.Report{}, err
	}
	records, _, err := dir.Of(ctx, x)
	return report.Make(x, records), err
}

func searchLine(cell cell, r report.Report) string {
	of := row{cell: cell, report: r}
	chance := slices.DeleteFunc(slices.Clone(r.Arms), func(a report.ArmResult) bool { return a.Name == of.plumb().Name })
	slices.SortStableFunc(chance, func(a, b report.ArmResult) int { return cmp.Compare(b.Metric.Value, a.Metric.Value) })
	fields := []string{cell.name(), trials.Value(of.plumb().Metric)}
	if len(chance) > 0 {
		fields = append(fields, trials.Value(chance[0].Metric))
	}
	for _, a := range chance {
		fields = append(fields, of.against(a.Name).text())
	}
	return "| " + strings.Join(fields, " | ") + " |"
}
