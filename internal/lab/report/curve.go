package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// threadsPath is what an axis sets that a curve is drawn over.
const threadsPath = "load.threads"

// threadsAxis gives the axis of the number of threads, "" when there is none.
func threadsAxis(x experiment.Experiment) string {
	for _, a := range x.Axes {
		for _, l := range a.Levels {
			if _, sets := l.Set[threadsPath]; sets {
				return a.Name
			}
		}
	}
	return ""
}

// curves gives throughput by threads for each combination of the other axes.
func (t *table) curves(arms []ArmResult) (all []Curve) {
	axis := threadsAxis(t.x)
	if axis == "" {
		return nil
	}
	for i, a := range t.x.Arms {
		name := cmp.Or(others(t.x, a, axis), t.x.Name)
		at := slices.IndexFunc(all, func(c Curve) bool { return c.Name == name })
		if at < 0 {
			at = len(all)
			all = append(all, Curve{Name: name})
		}
		if p, ok := t.point(a, arms[i]); ok {
			all[at].Points = append(all[at].Points, p)
		}
	}
	for i := range all {
		c := &all[i]
		slices.SortStableFunc(c.Points, func(a, b stats.Point) int { return a.Threads - b.Threads })
		k, err := stats.FitCapacity(c.Points)
		if err != nil {
			c.Doubt = err.Error()
			continue
		}
		c.Capacity, c.Doubt = k, strings.Join(k.Doubts, "; ")
	}
	return all
}

// point is what an arm shows at its number of threads.
func (t *table) point(a experiment.Arm, r ArmResult) (stats.Point, bool) {
	var values []float64
	for _, trial := range t.trials(a.Name) {
		values = append(values, trial.Rate.Value)
	}
	e := stats.Independent(values)
	if e.N == 0 || !(e.Value > 0) {
		return stats.Point{}, false
	}
	p := stats.Point{Threads: max(1, a.Setup.Load.Threads), Rate: e.Value}
	if h := half(e); !math.IsInf(h, 1) {
		p.Error = h
	}
	if r.Latency.N > 0 {
		p.Response = r.Latency.Mean.Value / 1000
	}
	return p, true
}

// others names the levels of an arm on all axes but one.
func others(x experiment.Experiment, a experiment.Arm, axis string) string {
	var parts []string
	for _, one := range x.Axes {
		if one.Name != axis {
			parts = append(parts, a.Levels[one.Name])
		}
	}
	return strings.Join(parts, ", ")
}
