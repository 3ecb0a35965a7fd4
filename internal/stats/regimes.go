package stats

import (
	"math"
	"slices"
)

// Regime is a part of a series with one level.
type Regime struct {
	From, To int // of the values: From is in it, To is not
	Level    Estimate
}

const (
	sureChange  = 0.005 // chance of taking noise for a change of level, each time one is looked for
	leastRegime = 10    // steps
	leastWorth  = 5     // independent values that a regime must be worth
	leastChange = 0.03  // of the level: less is of no interest
)

// findRegimes cuts a series where its level changes for good. The test is
// Kuiper's of the cumulative deviations from the mean, which for noise of any
// correlation behave as a Brownian bridge once divided by the long-run
// deviation; its range shows one change, and also one there and back. Parts
// are looked at again until none changes (binary segmentation). Level is the
// series without dips; the levels reported are of x, with them.
func findRegimes(x, level []float64) []Regime {
	cuts := split(level, 0, nil)
	slices.Sort(cuts)
	cuts = merge(level, cuts)
	from := 0
	var all []Regime
	for _, to := range append(cuts, len(x)) {
		all = append(all, Regime{from, to, Mean(x[from:to])})
		from = to
	}
	return all
}

// split appends where the level changes within x, which begins at offset.
func split(x []float64, offset int, cuts []int) []int {
	if len(x) < 2*leastRegime {
		return cuts
	}
	found := changes(x)
	if len(found) == 0 {
		return cuts
	}
	from := 0
	for _, at := range found {
		cuts = append(split(x[from:at], offset+from, cuts), offset+at)
		from = at
	}
	return split(x[from:], offset+from, cuts)
}

// changes gives none, one or two places where the level of x changes.
func changes(x []float64) []int {
	mean, _ := moments(x)
	var sum, low, high float64
	lowAt, highAt := 0, 0
	for i, v := range x {
		sum += v - mean
		if sum < low {
			low, lowAt = sum, i+1
		}
		if sum > high {
			high, highAt = sum, i+1
		}
	}
	var at []int
	for _, cut := range []int{min(lowAt, highAt), max(lowAt, highAt)} {
		last := 0
		if len(at) > 0 {
			last = at[len(at)-1]
		}
		if cut-last >= leastRegime && len(x)-cut >= leastRegime {
			at = append(at, cut)
		}
	}
	if len(at) == 0 {
		return nil
	}
	long, worth := noiseWithin(x, at)
	if worth < leastWorth*float64(len(at)+1) || kuiper((high-low)/math.Sqrt(long*float64(len(x)))) > sureChange {
		return nil
	}
	return at
}

// noiseWithin gives the long-run variance of x around the levels between
// cuts, and how many independent values x is worth. With each level that is
// estimated the noise looks smaller than it is, by its correlation time; the
// answer is corrected for that.
func noiseWithin(x []float64, cuts []int) (long, worth float64) {
	rest := make([]float64, 0, len(x))
	from := 0
	for _, to := range append(slices.Clone(cuts), len(x)) {
		mean, _ := moments(x[from:to])
		for _, v := range x[from:to] {
			rest = append(rest, v-mean)
		}
		from = to
	}
	block := (len(rest) + mostMeans - 1) / mostMeans
	means := batches(rest, block)
	mean, variance := moments(means)
	if variance == 0 {
		return 1e-300, float64(len(x))
	}
	long = longRun(means, mean, variance)
	time := long / variance // correlation time, in blocks
	lost := time * float64(len(cuts)) / float64(len(means))
	if lost >= 0.9 {
		return math.Inf(1), 0
	}
	long /= 1 - lost
	return long * float64(block), float64(len(means)) * variance / long
}

// kuiper is the chance that a Brownian bridge ranges over v or more.
func kuiper(v float64) (p float64) {
	if v < 0.6 {
		return 1
	}
	for j := 1.0; j < 100; j++ {
		term := 2 * (4*j*j*v*v - 1) * math.Exp(-2*j*j*v*v)
		p += term
		if term < 1e-12*p {
			break
		}
	}
	return min(1, p)
}

// merge drops cuts between levels that differ too little to matter, the
// smallest difference first.
func merge(x []float64, cuts []int) []int {
	for len(cuts) > 0 {
		least, which := math.Inf(1), 0
		for i, at := range cuts {
			from, to := 0, len(x)
			if i > 0 {
				from = cuts[i-1]
			}
			if i+1 < len(cuts) {
				to = cuts[i+1]
			}
			before, _ := moments(x[from:at])
			after, _ := moments(x[at:to])
			if change := math.Abs(after-before) / max(math.Abs(before), math.Abs(after)); change < least {
				least, which = change, i
			}
		}
		if least >= leastChange {
			break
		}
		cuts = slices.Delete(cuts, which, which+1)
	}
	return cuts
}

// Exhaustion is one lasting step down after a high plateau: a burst of
// credits, or a drive's cache of fast flash, that was used up.
type Exhaustion struct {
	At     Estimate // steps after the start
	Before Estimate
	After  Estimate
	Spent  Estimate // (Before - After) * At, in units of the values times steps
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
		byLevel := func(a, b Regime) int { return int(math.Copysign(1, a.Level.Value-b.Level.Value)) }
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
	long, _ := noiseWithin(x, []int{at})
	off := min(11*long/(fall*fall)+1, float64(len(x)))
	e.At = Estimate{Value: float64(at), Low: max(0, float64(at)-off), High: min(float64(len(x)), float64(at)+off), N: e.Before.N + e.After.N}
	half := func(v Estimate) float64 { return (v.High - v.Low) / 2 / v.Value }
	part := math.Sqrt(math.Pow((half(e.Before)*e.Before.Value), 2)+math.Pow(half(e.After)*e.After.Value, 2)) / fall
	part = math.Hypot(part, off/float64(at))
	spent := fall * float64(at)
	e.Spent = Estimate{Value: spent, Low: spent * (1 - part), High: spent * (1 + part), N: e.At.N}
	return e
}
