package space

import (
	"math"
	"slices"

	"plumb/internal/stats"
)

// Most disks have a week. What is removed each fortnight, or each tenth day, has a cycle of its own, and futures of weeks
// that are drawn whatever their place in it have that removal too often, or too seldom.
const (
	longestCycle = 62  // days
	leastCycles  = 4   // of them must be known
	lately       = 365 // days by which it is told
	closer       = 0.8 // times as unlike as days a week apart, and as those a day less or more apart, is what is no chance
	certain      = 4.0 // standard errors: sixty cycles are tried
	mostUnlike   = 3   // times what days usually differ from their middle: one huge day is unlike all others
)

// cycleOf is after how many days days are alike: a week, unless another number tells much better what they add; or after
// how many they are read.
func cycleOf(added []float64, each int) int {
	if each > 1 {
		return each
	}
	added = added[max(0, len(added)-lately):]
	most := min(longestCycle, len(added)/leastCycles)
	from := max(week, most+1)
	if from >= len(added) {
		return week
	}
	c := unlikeness{added, from, mostUnlike * usualDistance(added)}
	means := make([]float64, from+1) // by distance; from is at least a week, and more than the longest
	for lag := 1; lag < len(means); lag++ {
		means[lag] = c.mean(lag)
	}
	best, least := week, math.Inf(1)
	for lag := 2; lag <= most; lag++ {
		if v := means[lag]; v < closer*min(least, means[week], means[lag-1], means[lag+1]) {
			best, least = lag, v
		}
	}
	if !c.surely(best) {
		return week
	}
	return best
}

// unlikeness is how unlike days of some distance are.
type unlikeness struct {
	added []float64
	from  int // the first day that is compared with one before it
	bound float64
}

func (c unlikeness) day(i, lag int) float64 {
	return min(c.bound, math.Abs(c.added[i]-c.added[i-lag]))
}

func (c unlikeness) mean(lag int) (mean float64) {
	for i := c.from; i < len(c.added); i++ {
		mean += c.day(i, lag) / float64(len(c.added)-c.from)
	}
	return mean
}

// surely tells whether days of a distance are more alike than those a week apart by more than chance.
func (c unlikeness) surely(lag int) bool {
	sum, square := 0.0, 0.0
	for i := c.from; i < len(c.added); i++ {
		d := c.day(i, week) - c.day(i, lag)
		sum, square = sum+d, square+d*d
	}
	return sum > certain*math.Sqrt(square)
}

// usualDistance is how far days usually are from their middle.
func usualDistance(added []float64) (mean float64) {
	middle := stats.Quantile(slices.Sorted(slices.Values(added)), 0.5)
	for _, v := range added {
		mean += math.Abs(v-middle) / float64(len(added))
	}
	return mean
}
