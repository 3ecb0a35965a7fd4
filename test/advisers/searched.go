package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
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
		r, err := c.searched(ctx, cell)
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

// searched reads what is kept of the second half of a search.
func (c contest) searched(ctx context.Context, cell cell) (report.Report, error) {
	dir := c.searchDir()
	file := filepath.Join(string(dir), searchName(cell)+ofBest+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return report.Report{}, fmt.Errorf("read the experiment: %w", err)
	}
	x, err := experiment.Parse(file, text)
	if err != nil {
		return report.Report{}, err
	}
	records, _, err := dir.of(ctx, x)
	return report.Make(x, records), err
}

func searchLine(cell cell, r report.Report) string {
	of := row{cell: cell, report: r}
	chance := slices.DeleteFunc(slices.Clone(r.Arms), func(a report.ArmResult) bool { return a.Name == of.plumb().Name })
	slices.SortStableFunc(chance, func(a, b report.ArmResult) int { return cmp.Compare(b.Metric.Value, a.Metric.Value) })
	fields := []string{cell.name(), value(of.plumb().Metric)}
	for i, a := range chance {
		if i == 0 {
			fields = append(fields, value(a.Metric))
		}
		fields = append(fields, of.against(a.Name).text())
	}
	return "| " + strings.Join(fields, " | ") + " |"
}
