package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
)

// measured are the flags that say where a curve was measured: in a CSV file, or
// by an experiment of the lab.
type measured struct {
	csv    string
	ledger string
	name   string
	axis   string
	with   []string
}

func (m *measured) flags(c *cobra.Command, columns string) {
	fl := c.Flags()
	fl.StringVar(&m.csv, "csv", "", "what was measured is in `FILE`, with a header and the columns "+columns)
	shell.SecretVar(c, &m.ledger, "ledger", "", "or in the lab's records at `PLACE`")
	fl.StringVar(&m.name, "experiment", "", "the experiment with this `NAME` in the ledger; default: the last one")
	fl.StringVar(&m.axis, "axis", "", "the `AXIS` of the experiment that was varied")
	fl.StringSliceVar(&m.with, "with", nil, "only arms of the experiment with this `LEVEL` on another axis")
	if err := c.MarkFlagFilename("csv", "csv"); err != nil {
		panic(err)
	}
}

// given tells whether any is named, and what is wrong with them.
func (m measured) given() (bool, error) {
	switch {
	case m.csv != "" && m.ledger != "":
		return false, hint.Usage("--csv and --ledger are two places of what was measured", "give one of them")
	case m.ledger != "" && m.axis == "":
		return false, hint.Usage("--ledger needs the axis that was varied", "plumb lab report --ledger "+ledger.Apart(m.ledger)+" shows the axes; --axis names one")
	}
	return m.csv != "" || m.ledger != "", nil
}

// place is where it was measured, for messages.
func (m measured) place() string { return cmp.Or(m.csv, ledger.Apart(m.ledger)) }

// point is what was measured at one level.
type point struct{ x, rate, off float64 }

// sizeColumn is the column of the levels that are sizes.
const sizeColumn = "size"

// levelOf gives one of those that x names.
func levelOf(x, text string) (float64, error) {
	if x == sizeColumn {
		return forecast.Size(text)
	}
	return model.ReadNumber(text)
}

// points reads them. x is the name of the column beside rate.
func (m measured) points(ctx context.Context, x string) ([]point, error) {
	if m.ledger != "" {
		return m.fromLedger(ctx, x)
	}
	t, err := table(m.csv)
	if err != nil {
		return nil, err
	}
	at, err := m.column(t, x)
	if err != nil {
		return nil, err
	}
	rates, err := t.Numbers("rate")
	if err != nil {
		return nil, err
	}
	off := make([]float64, len(rates))
	if t.Has("error") {
		if off, err = t.Parts("error"); err != nil {
			return nil, err
		}
	}
	var all []point
	for i := range at {
		all = append(all, point{at[i], rates[i], off[i]})
	}
	return joined(all), nil
}

// column reads the column of what was varied.
func (m measured) column(t model.Table, x string) ([]float64, error) {
	if x != sizeColumn {
		return t.Numbers(x)
	}
	at, err := t.Sizes(x)
	for i, bytes := range at {
		if bytes < leastOfAll {
			return nil, hint.With(fmt.Errorf("read %s: line %d, %s: %g bytes are no cache: without a unit it is in bytes", m.csv, t.Line(i), x, bytes), "such as 16G")
		}
	}
	return at, err
}

// joined makes one point of those that were measured at the same level: their mean,
// which is off by half of what they differ, or by as much as is said of any.
func joined(all []point) (out []point) {
	var order []float64
	at := map[float64][]point{}
	for _, p := range all {
		if at[p.x] == nil {
			order = append(order, p.x)
		}
		at[p.x] = append(at[p.x], p)
	}
	for _, x := range order {
		one, low, high, sum := at[x][0], math.Inf(1), math.Inf(-1), 0.0
		for _, p := range at[x] {
			low, high, sum = min(low, p.rate), max(high, p.rate), sum+p.rate
			one.off = max(one.off, p.off)
		}
		one.rate = sum / float64(len(at[x]))
		if one.rate > 0 {
			one.off = max(one.off, (high-low)/2/one.rate)
		}
		out = append(out, one)
	}
	return out
}

// fromLedger reads the arms of an experiment. What does not count there does not
// count here: a trial that was not steady or was throttled is marked by the lab.
func (m measured) fromLedger(ctx context.Context, of string) (all []point, err error) {
	store, err := ledger.OpenExisting(ctx, m.ledger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	r, err := store.Report(ctx, m.name)
	if err != nil {
		return nil, err
	}
	if metric := cmp.Or(r.Experiment.Metric, "rate"); metric != "rate" {
		return nil, hint.With(fmt.Errorf("experiment %s compares %s, and a forecast needs rates", r.Experiment.Name, metric), "run it with metric: rate")
	}
	if r.Experiment.Unsteady {
		return nil, hint.With(fmt.Errorf("experiment %s counts trials whose rate is not steady, and a curve needs rates that last", r.Experiment.Name), "run it without measure.unsteady")
	}
	if programs := programsOf(r.Records); len(programs) > 1 {
		return nil, hint.With(fmt.Errorf("experiment %s ran on different servers: %s", r.Experiment.Name, strings.Join(programs, ", ")), "a curve is one server's: run it again on one version")
	}
	for _, arm := range r.Arms {
		a := r.Experiment.Arm(arm.Name)
		x, ok := m.takes(a, of)
		if !ok || arm.Trials == 0 {
			continue
		}
		p := point{x: x, rate: arm.Metric.Value}
		if half := (arm.Metric.High - arm.Metric.Low) / 2 / arm.Metric.Value; half > 0 && !math.IsInf(half, 0) {
			p.off = half
		}
		if slices.ContainsFunc(all, func(q point) bool { return q.x == x }) {
			return nil, hint.Usage(fmt.Sprintf("experiment %s has several arms at %s %g", r.Experiment.Name, m.axis, x), "--with names a level of the other axes: "+otherLevels(r.Experiment, m.axis))
		}
		all = append(all, p)
	}
	return all, nil
}

// programsOf lists the servers that the trials that count ran on.
func programsOf(records []experiment.Record) (all []string) {
	for _, r := range records {
		if r.Valid() && r.Program != "" && !slices.Contains(all, r.Program) {
			all = append(all, r.Program)
		}
	}
	return all
}

// takes gives the level of an arm on the axis as a number, if it is asked for.
func (m measured) takes(a experiment.Arm, of string) (float64, bool) {
	for _, w := range m.with {
		if !slices.ContainsFunc(levels(a, m.axis), func(l string) bool { return l == w }) {
			return 0, false
		}
	}
	x, err := levelOf(of, a.Levels[m.axis])
	return x, err == nil
}

// levels are those of an arm on all axes but one.
func levels(a experiment.Arm, axis string) (all []string) {
	for name, l := range a.Levels {
		if name != axis {
			all = append(all, l)
		}
	}
	return all
}

func otherLevels(x experiment.Experiment, axis string) string {
	var all []string
	for _, a := range x.Axes {
		for _, l := range a.Levels {
			if a.Name != axis {
				all = append(all, l.Name)
			}
		}
	}
	return strings.Join(all, ", ")
}
