package stats

import (
	"cmp"
	"fmt"
	"slices"
)

// Analysis is what a series of values, one for each second or other step,
// shows. Times are in steps.
type Analysis struct {
	Mean    Estimate
	Dips    *Dips    // nil: no regular dips beyond what chance would show
	Regimes []Regime // one: no lasting change of level
	Doubts  []string // why something could not be looked for, or is not sure
}

// leastSeries is the length below which a series is only averaged.
const leastSeries = 60

// Analyse looks for regular dips, then, without them, for lasting changes of
// level. Values that are no numbers count as the value before them, so that
// times stay right.
func Analyse(values []float64) Analysis {
	a := Analysis{Mean: Mean(values)}
	x := filled(values)
	if len(x) < leastSeries {
		a.Doubts = append(a.Doubts, fmt.Sprintf("%d values are too few to look for dips and changes of level, which needs %d", len(x), leastSeries))
		if len(x) > 0 {
			a.Regimes = []Regime{{0, len(x), a.Mean}}
		}
		return a
	}
	level := x
	a.Dips, level = findDips(x)
	a.Regimes = findRegimes(x, level)
	if a.Dips == nil {
		a.Doubts = append(a.Doubts, doubtFalls(irregular(x, a.Regimes))...)
	}
	return a
}

// doubtFalls tells of falls that are not reported as dips.
func doubtFalls(falls []dip) []string {
	if len(falls) == 0 {
		return nil
	}
	deepest := slices.MaxFunc(falls, func(a, b dip) int { return cmp.Compare(a.depth, b.depth) })
	why := "at no regular times"
	if len(falls) < leastDips {
		why = fmt.Sprintf("too few to tell whether they come back regularly, which needs %d", leastDips)
	}
	return []string{fmt.Sprintf("%s, the deepest by %.0f %% at step %d: %s", count(len(falls), "fall"), 100*deepest.depth, deepest.from, why)}
}

// filled puts the value before in place of one that is no number.
func filled(values []float64) []float64 {
	kept := numbers(values)
	if len(kept) == len(values) || len(kept) == 0 {
		return kept
	}
	x, last := make([]float64, len(values)), kept[0]
	for i, v := range values {
		if v-v == 0 { // neither infinite nor no number
			last = v
		}
		x[i] = last
	}
	return x
}
