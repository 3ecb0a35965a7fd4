package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"plumb/internal/stats"
)

// Worn is how worn an SSD said it was.
type Worn struct {
	At      time.Time
	Percent float64 // whole, of its rated endurance; may pass 100
}

const (
	leastWearDays = 14
	leastWear     = 2     // per cent that it must have risen: below that the whole number hides it
	usedUp        = 100.0 // per cent
	day24         = 86400.0
	leastLeap     = 10.0        // per cent between two readings that may be another drive's
	leapsBy       = 20.0        // times as fast as in the rest of the time
	mostDrives    = 3           // that have been in one place, one after the other
	longestWear   = 30 * 365.25 // days: no drive is used for longer
)

// Wear forecasts when an SSD has used up its rated endurance.
//
// It tells whole numbers of per cent, so that between two readings the true wear rose by
// up to one more or less than they say: that is the doubt of a short series. How
// much the parts of the series differ is the other, and the larger one counts.
func Wear(name string, readings []Worn) Result {
	all, r := wearSeries(name, readings)
	if r != nil {
		return *r
	}
	if n := falls(all); n > max(mostDrives, len(all)/10) && !countsDown(all) {
		return refused("name the drive of each reading in a column device, and give the percentage used",
			"%s: it fell %d times and rose again, so these are readings of several drives, or not of wear", name, n)
	}
	if countsDown(all) {
		return refused("give what is used: 100 less each value", "%s: it only falls, from %g to %g %%: that is what is left, not what is used", name, all[0].Percent, all[len(all)-1].Percent)
	}
	all, replaced := sinceFall(name, all)
	worn := wearOf(name, all)
	worn.Warnings = slices.Concat(replaced, leaps(name, all), worn.Warnings)
	return worn
}

// wearOf forecasts from the readings of one drive.
func wearOf(name string, all []Worn) Result {
	first, last := all[0], all[len(all)-1]
	if last.Percent >= usedUp {
		return wornOut(all)
	}
	days := daysBetween(first, last)
	if days < leastWearDays {
		return refused(fmt.Sprintf("record it until %s", first.At.AddDate(0, 0, leastWearDays).Format(time.DateOnly)), "%s: %.1f days of readings are less than %d", name, days, leastWearDays)
	}
	rose := last.Percent - first.Percent
	ends := func(rate float64) float64 { return float64(last.At.Unix()) + (usedUp-last.Percent)/rate*day24 }
	if rose < leastWear {
		return refused("record it until it has risen by 2 %",
			"%s: the wear rose by %g %% in %.0f days, which is within the rounding to a whole number of per cent; at that pace it lasts %s", name, rose, days, atLeastUntil(last, ends((rose+1)/days)))
	}
	rate := rose / days
	half := max(1/days, doubtOfPace(all, rose))
	e := stats.Estimate{Value: ends(rate), Low: ends(rate + half), High: ends(max(rate-half, rate/10)), N: len(all)}
	whole := Result{Model: "wear a day", Assumptions: []string{
		"writing continues at the same rate and in the same way",
		"the endurance is what the manufacturer rates; many drives work beyond it, but nothing is promised then",
	}}
	whole.Values = []Value{{Name: "used_up", Unit: Date, Estimate: e, How: fmt.Sprintf("%g %% used, %.3g %% a month over %.0f days", last.Percent, rate*365.25/12, days)}}
	if recent, ok := lately(all); ok {
		whole.Rivals = []Rival{{Name: "the whole series", Value: e.Value, Error: math.NaN(), Weight: 1}, {Name: "the last third", Value: ends(recent), Error: math.NaN()}}
		if recent > rate+half {
			whole.Warnings = append(whole.Warnings, fmt.Sprintf("%s: it wears faster lately: at the pace of the last third it is used up by %s", name, dateOf(ends(recent))))
		}
	}
	return whole
}

// atLeastUntil says of a day that is a lower bound no more than anybody has to know.
func atLeastUntil(last Worn, seconds float64) string {
	if seconds > float64(last.At.Unix())+longestWear*day24 {
		return "for more than 30 years"
	}
	return "at least until " + dateOf(seconds)
}

// wearSeries puts readings in order, or says why they are none.
func wearSeries(name string, readings []Worn) ([]Worn, *Result) {
	no := func(measure, format string, args ...any) ([]Worn, *Result) {
		r := refused(measure, format, args...)
		return nil, &r
	}
	all := slices.Clone(readings)
	slices.SortFunc(all, func(a, b Worn) int { return a.At.Compare(b.At) })
	all = slices.CompactFunc(all, func(a, b Worn) bool { return a.At.Equal(b.At) })
	if len(all) < 2 {
		return no("record its health for a month (plumb watch record), or give --csv", "%s: at least two readings are needed to see how fast it wears, but there is %d", name, len(all))
	}
	for _, w := range all {
		if !(w.Percent >= 0 && w.Percent <= 255) {
			return no("leave it out", "%s: %g %% used is not a reading", name, w.Percent)
		}
	}
	return all, nil
}

// countsDown tells whether a value fell repeatedly and never rose, as SATA drives tell what is left.
func countsDown(all []Worn) bool {
	return falls(all) > 1 && slices.IsSortedFunc(all, func(a, b Worn) int { return cmp.Compare(b.Percent, a.Percent) })
}

// falls counts how often the value fell.
func falls(all []Worn) (n int) {
	for i := 1; i < len(all); i++ {
		if all[i].Percent < all[i-1].Percent {
			n++
		}
	}
	return n
}

// leaps says where the wear rose as no load explains beside the rest: a drive in its place that was worn already does that.
func leaps(name string, all []Worn) []string {
	first, last := all[0], all[len(all)-1]
	for i := 1; i < len(all); i++ {
		before, w := all[i-1], all[i]
		rose := w.Percent - before.Percent
		rest, days := last.Percent-first.Percent-rose, daysBetween(first, last)-daysBetween(before, w)
		if rose >= leastLeap && days > 0 && rose*days > leapsBy*max(rest, 1)*daysBetween(before, w) {
			return []string{fmt.Sprintf("%s: the wear rose from %g to %g %% between %s and %s, far faster than in the rest of the time: if the drive was replaced, give only the new one's readings",
				name, before.Percent, w.Percent, before.At.Format(time.DateOnly), w.At.Format(time.DateOnly))}
		}
	}
	return nil
}

// sinceFall leaves out the readings before the wear last fell, and says so.
func sinceFall(name string, all []Worn) (since []Worn, why []string) {
	for i := len(all) - 1; i > 0; i-- {
		if before, w := all[i-1], all[i]; w.Percent < before.Percent {
			return all[i:], []string{fmt.Sprintf("%s: only readings since %s count: the wear fell from %g to %g %%, so it is another drive, or another firmware",
				name, w.At.Format(time.DateOnly), before.Percent, w.Percent)}
		}
	}
	return all, nil
}

// wornOut says between which readings the endurance was used up.
func wornOut(all []Worn) Result {
	i := slices.IndexFunc(all, func(w Worn) bool { return w.Percent >= usedUp })
	at := float64(all[i].At.Unix())
	e, how := stats.Estimate{Value: at, Low: math.Inf(-1), High: at, N: len(all)}, "its rated endurance was used up when it was first read"
	if i > 0 {
		e.Low, how = float64(all[i-1].At.Unix()), fmt.Sprintf("its rated endurance is used up: %g %% on that day, and %g %% when it was read before", all[i].Percent, all[i-1].Percent)
	}
	return Result{Model: "rated endurance", Values: []Value{{Name: "used_up", Unit: Date, Estimate: e, How: how}}}
}

func daysBetween(a, b Worn) float64 { return b.At.Sub(a.At).Hours() / 24 }

// rateIn is the wear a day between two moments of the series.
func rateIn(all []Worn, from, to time.Time) float64 {
	at := func(t time.Time) float64 {
		i, _ := slices.BinarySearchFunc(all, t, func(w Worn, t time.Time) int { return w.At.Compare(t) })
		return all[min(i, len(all)-1)].Percent
	}
	return (at(to) - at(from)) / (to.Sub(from).Hours() / 24)
}

// lately is the pace of the last third, where that shows one.
func lately(all []Worn) (rate float64, ok bool) {
	first, last := all[0].At, all[len(all)-1].At
	third := last.Sub(first) / 3
	rate = rateIn(all, last.Add(-third), last)
	return rate, rate*third.Hours()/24 >= leastWear
}

// doubtOfPace is half of the interval of the mean pace, by how much the parts of
// the series differ: at most eight, each of which has readings that show a pace.
func doubtOfPace(all []Worn, rose float64) float64 {
	first, last := all[0].At, all[len(all)-1].At
	parts := min(8, int(rose/leastWear), len(all)/4)
	if parts < 3 {
		return 0
	}
	var paces []float64
	step := last.Sub(first) / time.Duration(parts)
	for i := range time.Duration(parts) {
		paces = append(paces, rateIn(all, first.Add(i*step), first.Add((i+1)*step)))
	}
	e := stats.Independent(paces)
	return (e.High - e.Low) / 2
}

func dateOf(seconds float64) string {
	return time.Unix(int64(min(seconds, 1e11)), 0).UTC().Format(time.DateOnly)
}
