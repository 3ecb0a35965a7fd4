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
	plentyWorth = 20    // independent values that a regime must be worth
	leastWorth  = 4     // the same where the change is abrupt
	nearby      = 5     // steps on either side that show how abrupt it is
	steep       = 4.0   // deviations of what they usually differ by
	leastChange = 0.03  // of the level: less is of no interest
	leastSure   = 3.5   // deviations of the noise
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
	place(level, cuts)
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
	if kuiper((high-low)/math.Sqrt(long*float64(len(x)))) > sureChange {
		return nil
	}
	regimes := float64(len(at) + 1)
	if worth >= plentyWorth*regimes || worth >= leastWorth*regimes && abrupt(x, at) {
		return at
	}
	return nil
}

// abrupt reports whether x falls or rises at some cut by more than it does
// elsewhere from a few values to the next. Slow noise does not: in a short
// series it passes for two levels, but gets from one to the other gradually.
func abrupt(x []float64, cuts []int) bool {
	jump := func(i int) float64 {
		before, _ := moments(x[i-nearby : i])
		after, _ := moments(x[i : i+nearby])
		return math.Abs(after - before)
	}
	var usual []float64
	for i := nearby; i+nearby <= len(x); i++ {
		usual = append(usual, jump(i))
	}
	slices.Sort(usual)
	least := steep * 1.4826 * Quantile(usual, 0.5)
	return slices.ContainsFunc(cuts, func(at int) bool { return jump(at) > least })
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

// merge drops cuts between levels that differ too little to matter or to be
// sure of, the least sure first.
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
			if sure := sureness(x[from:to], at-from); sure < least {
				least, which = sure, i
			}
		}
		if least >= leastSure {
			break
		}
		cuts = slices.Delete(cuts, which, which+1)
	}
	return cuts
}

// place moves each cut to where the two levels at its sides fit best; the
// test above draws it towards the middle.
func place(x []float64, cuts []int) {
	for i := range cuts {
		from, to := 0, len(x)
		if i > 0 {
			from = cuts[i-1]
		}
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		part := x[from:to]
		mean, _ := moments(part)
		var sum, best float64
		for j, v := range part {
			sum += v - mean
			before, after := float64(j+1), float64(len(part)-j-1)
			if score := sum * sum / before / after; min(before, after) >= leastRegime && score > best {
				best, cuts[i] = score, from+j+1
			}
		}
	}
}

// sureness is by how many deviations the level changes at a cut; 0 when by so
// little of it that nobody cares.
func sureness(x []float64, cut int) float64 {
	before, _ := moments(x[:cut])
	after, _ := moments(x[cut:])
	change := math.Abs(after - before)
	if !(change >= leastChange*max(math.Abs(before), math.Abs(after))) {
		return 0
	}
	long, _ := noiseWithin(x, []int{cut})
	return change / math.Sqrt(long*(1/float64(cut)+1/float64(len(x)-cut)))
}
