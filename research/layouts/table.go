package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/research/trials"
)

// What is to be reached: see the contest's issue.
const (
	ofExt4     = 0.85
	ofDefaults = 1.5
	bound      = 0.8 // of what the disk allows, or of the processors' time: then it is what binds
)

// result is one cell of the contest.
type result struct {
	cell    cell
	x       experiment.Experiment
	report  report.Report
	instead string // why there is nothing to show
}

func newResult(c cell, x experiment.Experiment, records []experiment.Record, older bool) result {
	r := result{cell: c, x: x, report: report.Make(x, records)}
	switch {
	case older:
		r.instead = "not run since its arms changed"
	case len(records) == 0:
		r.instead = "not run"
	case r.report.Arm(byProvision).Trials == 0:
		r.instead = "begun"
	}
	return r
}

// table prints all cells, and what they come to.
func (c contest) table(ctx context.Context) (string, error) {
	var all []result
	err := c.each(ctx, func(cell cell, x experiment.Experiment, records []experiment.Record, older bool) error {
		all = append(all, newResult(cell, x, records, older))
		return nil
	})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range all {
		b.WriteString(r.markdown())
	}
	b.WriteString(sum(all))
	return b.String(), nil
}

func (r result) markdown() string {
	head := "**" + r.cell.name() + "**"
	if r.instead != "" {
		return head + ": " + r.instead + ".\n\n"
	}
	if !r.report.Complete {
		head += fmt.Sprintf(" (%s so far)", units.Count(r.report.Done, "block"))
	}
	if r.cell.form == short {
		head += fmt.Sprintf(", in short: blocks of %s in place of %s", units.Short(r.cell.size().measure.Time), units.Short(r.cell.inWhole().measure.Time))
	}
	var b strings.Builder
	b.WriteString(head + "\n\n| layout | transactions/s | times ZFS's defaults | times ext4 | written to the disk for each | space used | disk | processors |\n|---|---|---|---|---|---|---|---|\n")
	for _, a := range r.report.Arms {
		b.WriteString(r.line(a) + "\n")
	}
	return b.String() + "\n"
}

// line is one arm.
func (r result) line(a report.ArmResult) string {
	if a.Trials == 0 {
		why := "no trial counts"
		if a.Failed != "" {
			why = a.Failed
		}
		return fmt.Sprintf("| %s | %s | | | | | | |", a.Name, why)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |", a.Name, trials.Value(a.Metric), r.timesText(a.Name, byDefault), r.timesText(a.Name, onExt4),
		room(a, "device", "written"), room(a, "space", "used"), percent(disk(a)), percent(cost(a, "machine", "processors busy")))
}

func (r result) timesText(arm, baseline string) string {
	if arm == baseline {
		return ""
	}
	return trials.Value(r.times(arm, baseline))
}

// times is what an arm does as a multiple of another, block by block.
func (r result) times(arm, baseline string) stats.Estimate {
	x := r.x
	x.Pairs = []experiment.Pair{{Arm: arm, Baseline: baseline}}
	v := report.Make(x, r.report.Records).Verdicts
	if len(v) != 1 || v[0].Effect.N == 0 {
		return stats.Estimate{Value: math.NaN()}
	}
	e := v[0].Effect
	e.Value, e.Low, e.High = 1+e.Value, 1+e.Low, 1+e.High
	return e
}

// cost is the mean of a cost of an arm; NaN when it is not known.
func cost(a report.ArmResult, layer, name string) float64 {
	i := slices.IndexFunc(a.Costs, func(c report.CostResult) bool { return c.Layer == layer && c.Name == name })
	if i < 0 {
		return math.NaN()
	}
	return a.Costs[i].Estimate.Value
}

// disk is which part of what the disk allows an arm took: of its requests, or of its bytes where that is more.
func disk(a report.ArmResult) float64 {
	requests := cost(a, "device", "requests") / mostIOPS
	moved := (cost(a, "device", "written") + cost(a, "device", "read")) / mostMBps
	return a.Metric.Value * max(requests, moved)
}

// losses names the crash-safe layouts on ZFS that are surely faster than provision's.
func (r result) losses() (all []string) {
	for _, v := range r.report.Verdicts {
		if v.Word == report.Worse && v.Baseline != onExt4 {
			all = append(all, v.Baseline)
		}
	}
	return all
}

// sum says in sentences what the cells come to.
func sum(all []result) string {
	run := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.instead != "" })
	if len(run) == 0 {
		return "No cell has been run.\n"
	}
	var lost, slower, faster, free []string
	for _, r := range run {
		for _, to := range r.losses() {
			lost = append(lost, r.cell.name()+" to "+to)
		}
		if of := r.times(byProvision, onExt4); !(of.Value >= ofExt4) {
			slower = append(slower, r.cell.name()+" "+trials.Value(of))
		}
		if r.times(byProvision, byDefault).Value >= ofDefaults {
			faster = append(faster, r.cell.name())
		}
		if ours := r.report.Arm(byProvision); !(disk(ours) >= bound) {
			free = append(free, fmt.Sprintf("%s (disk %s, processors %s)", r.cell.name(), percent(disk(ours)), percent(cost(ours, "machine", "processors busy"))))
		}
	}
	return fmt.Sprintf("%d of %d cells were run. A sure loss of provision to another layout on ZFS: %s. Less than %g of ext4: %s. At least %g times ZFS's defaults: %d of %d (%s). "+
		"Where provision's arm leaves the disk more than a fifth of its time: %s.\n",
		len(run), len(all), list(lost), ofExt4, list(slower), ofDefaults, len(faster), len(run), list(faster), list(free))
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func percent(part float64) string {
	if math.IsNaN(part) {
		return "not known"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

func room(a report.ArmResult, layer, name string) string {
	n := cost(a, layer, name)
	if math.IsNaN(n) {
		return "not known"
	}
	return units.Measured(math.Round(n))
}
