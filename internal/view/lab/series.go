package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
)

// trialLine is one trial over its seconds.
type trialLine struct {
	trial  experiment.Trial
	counts bool
	warm   []stretch
	points []Point // s, operations a second
	stalls []float64
}

// stretch is a part of the seconds.
type stretch struct{ from, to float64 }

// tracesOf gives the trials of an arm. Of servers that are switched between
// arms within a trial, only the seconds in which the arm was in force.
func tracesOf(r report.Report, arm string) (all []trialLine) {
	for _, rec := range r.Records {
		t := trialLine{trial: rec.Trial, counts: rec.Valid()}
		var measured []Point
		sum := 0.0
		for _, s := range rec.Series {
			if s.Length <= 0 || cmp.Or(s.Arm, rec.Arm) != arm {
				continue
			}
			p := Point{s.At, float64(s.Done) / s.Length}
			t.add(p, s)
			if !s.Warmup {
				measured, sum = append(measured, p), sum+p.Y
			}
		}
		for _, p := range measured {
			if p.Y < sum/float64(len(measured))/10 {
				t.stalls = append(t.stalls, p.X)
			}
		}
		if len(t.points) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// add appends a second; the line is interrupted where seconds are missing.
func (t *trialLine) add(p Point, s experiment.Second) {
	from := s.At - s.Length
	if k := len(t.points); k > 0 && from-t.points[k-1].X > 1.5 {
		t.points = append(t.points, Point{math.NaN(), math.NaN()})
	}
	t.points = append(t.points, p)
	if !s.Warmup {
		return
	}
	if k := len(t.warm); k > 0 && from-t.warm[k-1].to < 0.5 {
		t.warm[k-1].to = s.At
		return
	}
	t.warm = append(t.warm, stretch{from, s.At})
}

// The largest mean by the smallest from which on arms get scales of their own.
const ownScale = 6

// SeriesCharts shows every arm's throughput over its trials.
func SeriesCharts(r report.Report) (charts []Chart, caption string) {
	arms, tops := make([][]trialLine, len(r.Arms)), make([]float64, len(r.Arms))
	end, top, least := 0.0, 0.0, math.Inf(1)
	for i, a := range r.Arms {
		arms[i] = tracesOf(r, a.Name)
		var last float64
		last, tops[i] = extent(arms[i])
		if end = max(end, last); tops[i] > 0 {
			top, least = max(top, tops[i]), min(least, tops[i])
		}
	}
	if end == 0 {
		return nil, ""
	}
	own := top > ownScale*least
	for i, a := range r.Arms {
		if !own {
			tops[i] = top
		}
		if len(arms[i]) > 0 {
			charts = append(charts, seriesChart(a, i, arms[i], end, tops[i]))
		}
	}
	return charts, seriesCaption(slices.Concat(arms...), own)
}

// extent gives the last second of an arm's lines, and their highest point.
func extent(lines []trialLine) (end, top float64) {
	for _, t := range lines {
		for _, p := range t.points {
			if units.IsReal(p.X) {
				end, top = max(end, p.X), max(top, p.Y)
			}
		}
	}
	return end, top
}

// seriesCaption explains what is seen of the lines of all arms. own: each arm has a scale of its own.
func seriesCaption(lines []trialLine, own bool) string {
	text := "Operations in each second. Every line is a trial."
	if slices.ContainsFunc(lines, func(t trialLine) bool { return len(t.warm) > 0 }) {
		text += " The shaded part is warm-up and is not measured."
	}
	if own {
		text += " Each arm has a scale of its own."
	}
	if slices.ContainsFunc(lines, func(t trialLine) bool { return t.counts && len(t.stalls) > 0 }) {
		text += " A mark at the bottom is a second with less than a tenth of the trial's mean."
	}
	if slices.ContainsFunc(lines, func(t trialLine) bool { return !t.counts }) {
		text += " Grey lines are trials that do not count."
	}
	return text
}

func seriesChart(a report.ArmResult, i int, traces []trialLine, end, top float64) Chart {
	y, ticks := Linear(top, units.PerSecond)
	x := scale{high: end}
	c := Chart{Title: a.Name, Sub: units.Count(a.Trials, "trial"), XLabel: "seconds", YLabel: "operations, /s", Y: ticks, X: secondTicks(x), Low: true,
		Alt: fmt.Sprintf("operations a second over %.0f seconds in %s of %s", end, units.Count(len(traces), "trial"), a.Name)}
	if a.Trials == 0 {
		c.Sub = "no trial counts"
	}
	c.Grid()
	room := max(80, 12000/len(traces))
	var warm []stretch // of the first that counts: all are driven alike
	var marks []Line
	for _, t := range traces {
		class := "trial " + armClass(i)
		if !t.counts {
			class = "trial out"
		} else if warm == nil {
			warm = t.warm
		}
		var points []Point
		for _, p := range thin(t.points, room) {
			points = append(points, Point{x.At(p.X), y.At(p.Y)})
		}
		c.Lines = append(c.Lines, Line{Path: PathOf(points), Class: class, Title: fmt.Sprintf("block %d", t.trial.Block)})
		for _, s := range t.stalls {
			if t.counts {
				marks = append(marks, Line{Path: fmt.Sprintf("M%g %dv-60", spot(x.At(s)), canvas), Class: "stall"})
			}
		}
	}
	c.Lines = append(c.Lines, marks...)
	for _, w := range warm {
		c.Bands = append(c.Bands, Between(max(0, x.At(w.from)), x.At(w.to), "warm"))
	}
	return c
}

// secondTicks puts round seconds below an axis.
func secondTicks(s scale) (ticks []Tick) {
	step := roundStep(s.high / 5)
	for v := 0.0; v <= s.high*1.0001; v += step {
		ticks = append(ticks, Tick{At: PercentAt(s.At(v)), Text: units.Whole(v)})
	}
	return ticks
}

// Grid draws the rules that belong to the ticks.
func (c *Chart) Grid() {
	for _, t := range c.Y {
		c.Lines = append(c.Lines, Line{Path: Across(t.At / 100), Class: "grid"})
	}
}

// OrderChart shows the metric of every trial in the order in which they ran:
// what drifts over time is seen here.
func OrderChart(r report.Report) *Chart {
	top, n := 0.0, 0
	for _, rec := range r.Records {
		if rec.Metric > 0 && units.IsReal(rec.Metric) {
			top, n = math.Max(top, rec.Metric), n+1
		}
	}
	if n < 2 {
		return nil
	}
	name, unit := metricUnit(r.Experiment.Metric)
	y, ticks := Linear(top, showMetric(r.Experiment.Metric))
	c := &Chart{Title: "Every trial in the order in which they ran", Sub: "a hollow dot does not count", XLabel: "block", YLabel: name + ", " + unit, Y: ticks,
		Alt: fmt.Sprintf("%s of %s in order", name, units.Count(n, "trial"))}
	c.Grid()
	x := scale{low: -0.5, high: float64(len(r.Records)) - 0.5}
	block, from := 0, 0
	label := func(to int) {
		if block > 0 {
			c.X = append(c.X, Tick{At: PercentAt(x.At(float64(from+to-1) / 2)), Text: fmt.Sprint(block), Minor: block%2 == 0})
		}
	}
	index := armIndex(r)
	var dots []Line
	for i, rec := range r.Records {
		if rec.Block != block {
			label(i)
			if i > 0 {
				c.Lines = append(c.Lines, Line{Path: Upright(x.At(float64(i) - 0.5)), Class: "grid"})
			}
			block, from = rec.Block, i
		}
		if !(rec.Metric > 0) || !units.IsReal(rec.Metric) {
			continue
		}
		at := Dot(x.At(float64(i)), y.At(rec.Metric))
		dots = append(dots, Line{Path: at, Class: "dot " + armClass(index[rec.Arm]), Title: rec.Arm})
		if !rec.Valid() {
			dots = append(dots, Line{Path: at, Class: "hole"})
		}
	}
	label(len(r.Records))
	c.Lines = append(c.Lines, dots...)
	return c
}

func armIndex(r report.Report) map[string]int {
	index := map[string]int{}
	for i, a := range r.Arms {
		index[a.Name] = i
	}
	return index
}
