package stats

import "math"

// Drift is by how much the second half of a series lies above the first, as a
// part of the mean of all. Its interval allows for values that depend on one
// another, so noise is not taken for a drift.
func Drift(values []float64) Estimate {
	x := numbers(values)
	first, second := Mean(x[:len(x)/2]), Mean(x[len(x)/2:])
	all, _ := moments(x)
	e := Estimate{N: min(first.N, second.N), Low: math.Inf(-1), High: math.Inf(1), Warnings: append(first.Warnings, second.Warnings...)}
	if all == 0 || len(x) < 6 {
		return e
	}
	half := math.Hypot(first.High-first.Value, second.High-second.Value) / math.Abs(all)
	e.Value = (second.Value - first.Value) / all
	e.Low, e.High = e.Value-half, e.Value+half
	return e
}
