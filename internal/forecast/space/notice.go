package space

import (
	"math"
	"slices"

	"plumb/internal/forecast"
	"plumb/internal/stats"
)

// A change of slope is noticed when the last week as a whole is unlike what was
// usual before. Of all tests that are to find a change within a week, the sum over
// a week is the best (B. K. Guépié, L. Fillatre and I. Nikiforov, "Sequential
// detection of transient changes", 2012). A day counts for three deviations at
// most, so that one large one is not a change. For three weeks a notice is only
// kept while the days since then go on to speak for it.
const (
	enough     = 3.0 // deviations of the sum of a week that are a change
	still      = 2.5 // deviations of the sum of all days since then that keep it one
	mostOfADay = 3.0
	learning   = 14       // days until it is known what is usual
	settled    = 3 * week // days after which a notice stands
	longUsual  = 182      // days of which the usual is made
)

// regimes tells for each day at which day the slope that was valid then had begun,
// as far as it was known on that day: nothing later is looked at. each is how many days
// lie between readings.
func regimes(added []float64, each int) []int {
	from := make([]int, len(added)+1)
	before, start := 0, 0 // the regime that is settled, and the one that may have come after it
	for end := 1; end <= len(added); end++ {
		if end-start >= settled {
			before = start
		}
		start = newest(added[:end], before, start, each)
		from[end] = start
	}
	return from
}

// newest is where the regime begins that is valid after all of some days: before, or
// a day of the last weeks. start is the later one of the two if one was noticed already: it may
// turn out that it began later than that. Days between two readings all tell the same, so that as
// many tell less.
func newest(days []float64, before, start, each int) int {
	end, noticed := len(days), start > before
	until := max(end-settled, min(end-week, before+learning)) // what may be new does not tell what is usual
	if until-before < learning {
		return before
	}
	first := max(before, until-longUsual)
	h, known := usual(days[first:until], first), float64(until-first)
	begin, most, sum := before, 0.0, 0.0
	for day := end - 1; day >= max(until, start); day-- {
		sum += h.deviation(days[day], day)
		n := float64(end - day)
		v := math.Abs(sum) / math.Sqrt(float64(each)*(n+n*n/known)) // of few days the usual is not known well
		if n == week && !noticed && v <= enough {
			return before
		}
		if v > most && (noticed || n <= week) {
			begin, most = day, v
		}
	}
	if most <= still {
		return before
	}
	return begin
}

// habit is what a day usually adds, by the day of the week.
type habit struct {
	middle [week]float64
	spread float64
}

// deviation is how far a day was from the usual, in deviations.
func (h habit) deviation(v float64, day int) float64 {
	if h.spread == 0 {
		return 0
	}
	return min(mostOfADay, max(-mostOfADay, (v-h.middle[day%week])/h.spread))
}

// usual learns the habit of days that begin with day first. From three weeks on
// each weekday has its own middle.
func usual(days []float64, first int) (h habit) {
	var medians [week]float64
	mean, spread := clipped(days)
	if len(days) >= 3*week {
		medians = weekdays(days, first)
		_, spread = clipped(without(days, medians, first))
		// Medians of a few weeks differ also where weekdays do not: as far as that is
		// what is to be expected, they are drawn together (W. James and C. Stein, 1961).
		shrink(&medians, math.Pi/2*spread*spread/(float64(len(days))/week))
		mean, spread = clipped(without(days, medians, first))
	}
	for d, v := range medians {
		h.middle[d] = v + mean
	}
	h.spread = spread
	return h
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

// Changes counts how often a change of slope was noticed in a series. A notice that
// was taken back, or whose day became clearer, is not another one.
func Changes(s forecast.Series) (n int) {
	from := regimes(s.Added(), 1)
	for i := 1; i < len(from); i++ {
		if from[i] > from[i-1] && i-from[i-1] >= settled {
			n++
		}
	}
	return n
}
