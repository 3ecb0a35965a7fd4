package stats

import "fmt"

// Analysis is what a series of values, one for each second or other step,
// shows. Times are in steps.
type Analysis struct {
	Mean    Estimate
	Dips    *Dips       // nil: no regular dips beyond what chance would show
	Regimes []Regime    // one: no lasting change of level
	Burst   *Exhaustion // nil: no burst ended
	Doubts  []string    // why something could not be looked for
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
		a.Doubts = append(a.Doubts, fmt.Sprintf("%d values are too few to look for dips and changes of level, which needs %d", len(x), leastSeries))
		if len(x) > 0 {
			a.Regimes = []Regime{{0, len(x), a.Mean}}
		}
		return a
	}
	level := x
	a.Dips, level = findDips(x)
	a.Regimes = findRegimes(x, level)
	a.Burst = findExhaustion(x, a.Regimes)
	return a
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
