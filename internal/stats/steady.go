package stats

import "math"

// Steadiness is the judgement of Steady.
type Steadiness struct {
	Reached bool
	From    int     // index of the first value of the first window from which all windows are steady
	Range   float64 // of the last window: largest round less smallest, as a part of its mean
	Slope   float64 // of the last window: rise of the fitted line over it, as a part of its mean
}

// rounds is the number of parts that SNIA's Solid State Storage Performance
// Test Specification compares within a window.
const rounds = 5

// Steady looks for the part of a series from which on every window of the
// given length stays within a range and a slope, both as parts of its mean.
// As in SNIA's rule a window is five rounds, and it is their means that are
// compared: single seconds of a slow server are noise.
func Steady(values []float64, window int, rangeLimit, slopeLimit float64) Steadiness {
	var s Steadiness
	for at := len(values) - window; at >= 0 && window > 1; at-- {
		spread, slope := excursion(values[at : at+window])
		if at == len(values)-window {
			s.Range, s.Slope = spread, slope
		}
		if !(spread <= rangeLimit && slope <= slopeLimit && -slope <= slopeLimit) {
			return s
		}
		s.Reached, s.From = true, at
	}
	return s
}

// excursion gives how far the rounds of a window range, and how far the line
// fitted to them rises from one end of the window to the other, both as parts
// of the mean. Values of which the mean is 0 are not steady, but unknown.
func excursion(window []float64) (spread, slope float64) {
	n := min(rounds, len(window))
	var means [rounds]float64
	var sum, moment float64
	for i := range n {
		means[i], _ = moments(window[i*len(window)/n : (i+1)*len(window)/n])
		sum += means[i]
		moment += means[i] * (float64(i) - float64(n-1)/2)
	}
	low, high := means[0], means[0]
	for _, m := range means[:n] {
		low, high = min(low, m), max(high, m)
	}
	mean, k := sum/float64(n), float64(n)
	return (high - low) / mean, moment / (k * (k*k - 1) / 12) * (k - 1) / mean
}

// fewForDrift is the shortest series whose drift is looked for.
const fewForDrift = 6

// Drift is by how much a series rises from its beginning to its end along the
// line fitted to it, as a part of its mean. Its interval allows for values
// that depend on one another, so noise is not taken for a drift.
func Drift(values []float64) Estimate {
	x := numbers(values)
	n := float64(len(x))
	mean, _ := moments(x)
	e := Estimate{N: len(x), Low: math.Inf(-1), High: math.Inf(1)}
	if len(x) < fewForDrift || mean == 0 {
		return e
	}
	var sxy float64
	for i, v := range x {
		sxy += (float64(i) - (n-1)/2) * (v - mean)
	}
	sxx := n * (n*n - 1) / 12
	slope := sxy / sxx
	rest := make([]float64, len(x))
	for i, v := range x {
		rest[i] = v - mean - slope*(float64(i)-(n-1)/2)
	}
	_, variance := moments(rest)
	rise, half := slope*n/mean, 0.0
	if variance > 0 {
		long := longRun(rest, 0, variance)
		independent := n * variance / long
		half = student(max(1, independent-2)) * math.Sqrt(long/sxx) * n / math.Abs(mean)
	}
	e.Value, e.Low, e.High = rise, rise-half, rise+half
	return e
}
