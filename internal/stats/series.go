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
	Dips    *Dips       // nil: no regular dips beyond what chance would show
	Regimes []Regime    // one: no lasting change of level
	Burst   *Exhaustion // nil: no burst ended
	Doubts  []string    // why something could not be looked for, or is not sure
}

// leastSeries is the length below which a series is only averaged.
const leastSeries = 60

// Analyse looks for regular dips, then, without them, for lasting changes of
// level, and among these for a burst that was used up. Values that are no
// numbers count as the value before them, so that times stay right.
func Analyse(values []float64) Analysis {
	a := Analysis{Mean: Mean(values)}
	x := filled(values)
	if len(x) < leastSeries {
		a.Doubts = append(a.Doubts, fmt.Sprintf("too few values to look for dips and changes of level: %d, and that needs %d", len(x), leastSeries))
		if len(x) > 0 {
			a.Regimes = []Regime{{0, len(x), a.Mean}}
		}
		return a
	}
	level := x
	a.Dips, level = findDips(x)
	a.Regimes = findRegimes(x, level)
	a.Burst = findExhaustion(x, a.Regimes)
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

// Exhaustion is one lasting step down after a high plateau: a burst of
// credits, or a drive's cache of fast flash, that was used up.
type Exhaustion struct {
	At     Estimate // steps after the start
	Before Estimate
	After  Estimate
}

const (
	leastFall  = 0.15 // of the plateau
	leastAfter = 0.10 // of the series
	ofAllFalls = 0.70 // the step must make up that much of the range of levels: a slow decline does not
)

// findExhaustion looks for a step after which the level never comes back.
func findExhaustion(x []float64, regimes []Regime) *Exhaustion {
	for i := 1; i < len(regimes); i++ {
		before, after := regimes[:i], regimes[i:]
		byLevel := func(a, b Regime) int { return cmp.Compare(a.Level.Value, b.Level.Value) }
		low, high := slices.MinFunc(before, byLevel).Level.Value, slices.MaxFunc(after, byLevel).Level.Value
		top, bottom := slices.MaxFunc(before, byLevel).Level.Value, slices.MinFunc(after, byLevel).Level.Value
		at := regimes[i].From
		if !(low-high > leastFall*low) || low-high < ofAllFalls*(top-bottom) || float64(len(x)-at) < leastAfter*float64(len(x)) {
			continue
		}
		return exhausted(x, at)
	}
	return nil
}

// exhausted measures the step at a place. The interval of the place is that
// of J. Bai ("Estimation of a change point in multiple regression models",
// 1997): 11 times the long-run variance by the square of the step.
func exhausted(x []float64, at int) *Exhaustion {
	e := &Exhaustion{Before: Mean(x[:at]), After: Mean(x[at:])}
	fall := e.Before.Value - e.After.Value
	first, _ := noiseWithin(x[:at], nil)
	second, _ := noiseWithin(x[at:], nil)
	long := max(first, second)
	off := min(11*long/(fall*fall)+1, float64(len(x)))
	e.At = Estimate{Value: float64(at), Low: max(0, float64(at)-off), High: min(float64(len(x)), float64(at)+off), N: e.Before.N + e.After.N}
	return e
}
