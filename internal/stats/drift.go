package stats

import "math"

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
