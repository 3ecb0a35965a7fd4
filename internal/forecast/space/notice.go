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
	allowed    = 1.0 // deviation a day that is forgiven
	enough     = 3.4 // deviations that are a change
	mostOfADay = 3.0
	learning   = 14 // days until it is known what is usual
	longUsual  = 91 // days of which the usual is made
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
// three weeks on each weekday has its own median.
func usual(days []float64, first, at int) habit {
	rest := slices.Clone(days)
	shift := 0.0
	if len(days) >= 3*week {
		medians := weekdays(days, first)
		for i := range rest {
			rest[i] -= medians[(first+i)%week]
		}
		shift = medians[at%week]
	}
	mean, spread := clipped(rest)
	return habit{shift + mean, spread}
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
