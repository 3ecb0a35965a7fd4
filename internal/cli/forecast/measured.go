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
	fl.StringVar(&m.csv, "csv", "", "read the measurements from `FILE`, with a header and the columns "+columns)
	shell.SecretVar(c, &m.ledger, "ledger", "", "read the measurements from the lab's ledger at `PLACE`")
	fl.StringVar(&m.name, "experiment", "", "use the experiment with this `NAME` in the ledger; default: the last one")
	fl.StringVar(&m.axis, "axis", "", "`AXIS` of the experiment that was varied")
	fl.StringSliceVar(&m.with, "with", nil, "use only the arms that have this `LEVEL` on another axis")
	if err := c.MarkFlagFilename("csv", "csv"); err != nil {
		panic(err)
	}
}

// given tells whether any of the flags is given. It is a usage error if they make no sense.
func (m measured) given() (bool, error) {
	switch {
	case m.csv != "" && m.ledger != "":
		return false, hint.Usage("--csv and --ledger cannot be combined", "give one of them")
	case m.ledger == "" && (m.name != "" || m.axis != "" || len(m.with) > 0):
		return false, hint.Usage("--experiment, --axis and --with are of an experiment in a ledger, and none is named", "--ledger PLACE names it, such as --ledger plumb-lab")
	case m.ledger != "" && m.axis == "":
		return false, hint.Usage("--ledger needs the axis that was varied", "plumb lab report --ledger "+ledger.Apart(m.ledger)+" shows the axes; --axis names one")
	}
	return m.csv != "" || m.ledger != "", nil
}

// place says in messages where the curve was measured.
func (m measured) place() string { return cmp.Or(m.csv, ledger.Apart(m.ledger)) }

// point is what was measured at one level.
type point struct{ x, rate, off float64 }

// sizeColumn is the column of the levels that are sizes.
const sizeColumn = "size"

// levelOf parses a level of what x names.
func levelOf(x, text string) (float64, error) {
	if x == sizeColumn {
		return forecast.Size(text)
	}
	return model.ReadNumber(text)
}

// points reads the curve. x is the name of the column beside rate.
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

// column finds the column of what was varied.
func (m measured) column(t model.Table, x string) ([]float64, error) {
	if x != sizeColumn {
		return t.Numbers(x)
	}
	at, err := t.Sizes(x)
	for i, bytes := range at {
		if bytes < leastOfAll {
			return nil, hint.With(fmt.Errorf("read %s: line %d, %s: a cache of %g bytes is too small: without a unit the size is in bytes", m.csv, t.Line(i), x, bytes), "such as 16G")
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
	x := r.Experiment
	asked := slices.DeleteFunc(slices.Clone(r.Records), func(q experiment.Record) bool { _, is := m.takes(x.Arm(q.Arm), of); return !is })
	if err := cmp.Or(m.misnamed(x), unfit(x, asked)); err != nil {
		return nil, err
	}
	for _, arm := range r.Arms {
		a := x.Arm(arm.Name)
		at, ok := m.takes(a, of)
		if !ok || arm.Trials == 0 {
			continue
		}
		p := point{x: at, rate: arm.Metric.Value}
		if half := (arm.Metric.High - arm.Metric.Low) / 2 / arm.Metric.Value; half > 0 && !math.IsInf(half, 0) {
			p.off = half
		}
		if slices.ContainsFunc(all, func(q point) bool { return q.x == at }) {
			_, others := m.levelsOf(x)
			return nil, hint.Usage(fmt.Sprintf("experiment %s has several arms with %s %s", x.Name, m.axis, a.Levels[m.axis]), "--with names a level of the other axes: "+strings.Join(others, ", "))
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, m.nothing(x, of)
	}
	return all, nil
}

// misnamed says which axis or level was asked for that the experiment does not have; nil where it has all of them.
func (m measured) misnamed(x experiment.Experiment) error {
	var axes []string
	for _, a := range x.Axes {
		axes = append(axes, a.Name)
	}
	switch {
	case len(axes) == 0:
		return hint.Usage(fmt.Sprintf("experiment %s has no axes: its arms are named one by one", x.Name), "--csv FILE takes what plumb lab report shows of them")
	case !slices.Contains(axes, m.axis):
		return hint.Usage(fmt.Sprintf("experiment %s has no axis %s", x.Name, m.axis), "--axis names "+hint.OneOf(axes))
	}
	_, others := m.levelsOf(x)
	for _, w := range m.with {
		if !slices.Contains(others, w) {
			return hint.Usage(fmt.Sprintf("experiment %s has no level %s beside those on axis %s", x.Name, w, m.axis), "--with names one of these: "+cmp.Or(strings.Join(others, ", "), "none"))
		}
	}
	return nil
}

// unfit says why the trials that are asked for make no curve; nil where they can.
func unfit(x experiment.Experiment, asked []experiment.Record) error {
	if metric := cmp.Or(x.Metric, "rate"); metric != "rate" {
		return hint.With(fmt.Errorf("experiment %s compares %s, and a forecast needs rates", x.Name, metric), "run it with metric: rate")
	}
	if x.Unsteady {
		return hint.With(fmt.Errorf("experiment %s counts trials whose rate is not steady, and a curve needs rates that last", x.Name), "run it without measure.unsteady")
	}
	if programs := distinct(asked, func(r experiment.Record) string { return r.Program }); len(programs) > 1 {
		return hint.With(fmt.Errorf("experiment %s ran on different servers: %s", x.Name, strings.Join(programs, ", ")), "a curve is one server's: run it again on one version, or name its level by --with")
	}
	if machines := distinct(asked, func(r experiment.Record) string { return strings.Join(r.Machine, ", ") }); len(machines) > 1 {
		return hint.With(fmt.Errorf("experiment %s ran on different machines: %s", x.Name, strings.Join(machines, "; ")), "a curve is one machine's, with one kernel: run it again on one")
	}
	return nil
}

// nothing is the error if no arm is a point of a curve. It says why.
func (m measured) nothing(x experiment.Experiment, of string) error {
	own, _ := m.levelsOf(x)
	if slices.ContainsFunc(own, func(l string) bool { _, err := levelOf(of, l); return err == nil }) {
		return hint.With(fmt.Errorf("experiment %s has no trial that counts in the requested arms", x.Name), "plumb lab report says why trials do not count")
	}
	kind := "numbers"
	if of == sizeColumn {
		kind = "sizes"
	}
	return hint.Usage(fmt.Sprintf("the levels of axis %s of experiment %s are not %s: %s", m.axis, x.Name, kind, strings.Join(own, ", ")), "--axis names an axis whose levels are "+kind)
}

// distinct lists what the trials that count ran on, as far as that is known.
func distinct(records []experiment.Record, on func(experiment.Record) string) (all []string) {
	for _, r := range records {
		if what := on(r); r.Valid() && what != "" && !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	return all
}

// takes returns the level of an arm on the axis as a number, and false if the arm is not asked for.
func (m measured) takes(a experiment.Arm, of string) (float64, bool) {
	for _, w := range m.with {
		if !slices.ContainsFunc(levels(a, m.axis), func(l string) bool { return l == w }) {
			return 0, false
		}
	}
	x, err := levelOf(of, a.Levels[m.axis])
	return x, err == nil
}

// levels returns the levels of an arm on all axes but one.
func levels(a experiment.Arm, axis string) (all []string) {
	for name, l := range a.Levels {
		if name != axis {
			all = append(all, l)
		}
	}
	return all
}

// levelsOf lists the levels on the axis that was varied, and those on all others.
func (m measured) levelsOf(x experiment.Experiment) (own, others []string) {
	for _, a := range x.Axes {
		for _, l := range a.Levels {
			if a.Name == m.axis {
				own = append(own, l.Name)
			} else {
				others = append(others, l.Name)
			}
		}
	}
	return own, others
}
