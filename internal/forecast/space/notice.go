package space

import (
	"math"
	"slices"

	"plumb/internal/forecast"
	"plumb/internal/stats"
)

// A change of slope is noticed by two sums of how far each day is from the
// usual, upwards and downwards, less one deviation a day (E. S. Page,
// "Continuous inspection schemes", 1954). A day counts for three deviations at
// most, so that one large one is not a change.
const (
	allowed    = 0.85 // deviation a day that is forgiven
	enough     = 3.4  // deviations that are a change
	mostOfADay = 3.0
	learning   = 14  // days until it is known what is usual
	longUsual  = 182 // days of which the usual is made
)

// regimes tells for each day at which day the slope that was valid then had begun,
// as far as it was known on that day: nothing later is looked at.
func regimes(added []float64) []int {
	from := make([]int, len(added)+1)
	start := 0
	var up, down float64
	upSince, downSince := 0, 0
	for i, v := range added {
		if i-start >= learning {
			z := usual(added[max(start, i-longUsual):i], max(start, i-longUsual), i).deviation(v)
			if up = max(0, up+z-allowed); up == 0 {
				upSince = i + 1
			}
			if down = max(0, down-z-allowed); down == 0 {
				downSince = i + 1
			}
			if up > enough || down > enough {
				start = upSince
				if down > enough {
					start = downSince
				}
				up, down, upSince, downSince = 0, 0, i+1, i+1
			}
		} else {
			upSince, downSince = i+1, i+1
		}
		from[i+1] = start
	}
	return from
}

// habit is what a day usually adds, by the day of the week.
type habit struct {
	middle, spread float64
}

func (h habit) deviation(v float64) float64 {
	if h.spread == 0 {
		return 0
	}
	return min(mostOfADay, max(-mostOfADay, (v-h.middle)/h.spread))
}

// usual learns the habit for day at of days that begin with day first. From
// three weeks on each weekday has its own middle.
func usual(days []float64, first, at int) habit {
	if len(days) < 3*week {
		mean, spread := clipped(days)
		return habit{mean, spread}
	}
	medians := weekdays(days, first)
	rest := without(days, medians, first)
	_, spread := clipped(rest)
	// Medians of a few weeks differ also where weekdays do not: as far as that is
	// what is to be expected, they are drawn together (W. James and C. Stein, 1961).
	shrink(&medians, math.Pi/2*spread*spread/(float64(len(days))/week))
	mean, spread := clipped(without(days, medians, first))
	return habit{medians[at%week] + mean, spread}
}

// without takes from each day what is usual on its day of the week.
func without(days []float64, usual [week]float64, first int) []float64 {
	rest := slices.Clone(days)
	for i := range rest {
		rest[i] -= usual[(first+i)%week]
	}
	return rest
}

// shrink draws values together, of which each has that variance by chance.
func shrink(x *[week]float64, chance float64) {
	mean, _ := clipped(x[:])
	between := 0.0
	for _, v := range x {
		between += (v - mean) * (v - mean) / (week - 1)
	}
	keep := 0.0
	if between > chance {
		keep = 1 - chance/between
	}
	for i := range x {
		x[i] = mean + keep*(x[i]-mean)
	}
}

// weekdays gives the median of each day of the week.
func weekdays(days []float64, first int) (medians [week]float64) {
	var of [week][]float64
	for i, v := range days {
		of[(first+i)%week] = append(of[(first+i)%week], v)
	}
	for d := range of {
		slices.Sort(of[d])
		medians[d] = stats.Quantile(of[d], 0.5)
	}
	return medians
}

// clipped gives mean and deviation of values of which the outermost are
// drawn in to the others.
func clipped(x []float64) (mean, spread float64) {
	sorted := slices.Sorted(slices.Values(x))
	low, high := stats.Quantile(sorted, 0.05), stats.Quantile(sorted, 0.95)
	for _, v := range x {
		mean += min(high, max(low, v)) / float64(len(x))
	}
	for _, v := range x {
		d := min(high, max(low, v)) - mean
		spread += d * d
	}
	// what was drawn in makes a normal deviation look smaller by a tenth
	return mean, 1.12 * math.Sqrt(spread/float64(max(1, len(x)-1)))
}

// Changes counts how often a change of slope was noticed in a series.
func Changes(s forecast.Series) (n int) {
	from := regimes(s.Added())
	for i := 1; i < len(from); i++ {
		if from[i] != from[i-1] {
			n++
		}
	}
	return n
}
