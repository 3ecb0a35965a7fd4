package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm corrects the chances of several comparisons for their number: that any
// of those below the level is a difference where there is none, then is at
// most the level (S. Holm, "A simple sequentially rejective multiple test
// procedure", 1979). Chances that are not known (NaN) stay so, and do not
// count. Intervals are not corrected by it: they hold for each by itself.
func Holm(p []float64) []float64 {
	var order []int
	adjusted := slices.Clone(p)
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(order)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
