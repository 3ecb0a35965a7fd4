// Package stats holds the statistics of measured series: estimates with their
// intervals, steadiness, capacity curves, periodic dips. It is pure.
package stats

// Estimate is a measured or predicted number with its 95 % interval: the only
// way such a number is shown.
type Estimate struct {
	Value, Low, High float64
	N                int      // independent values it rests on, after correction for autocorrelation
	Warnings         []string // reasons to doubt it, for people
}
