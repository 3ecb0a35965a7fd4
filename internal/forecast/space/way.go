package space

import (
	"math"
	"math/rand/v2"
)

// A way to see the future: it draws one course of it, from what each day
// added until now. course[i] is what is added within i+1 days.
type way struct {
	name  string
	draw  func(p *past, r *rand.Rand, course []float64)
	rival bool // a naive one: it has a part only where it was better than all that are not
}

// ways are what a forecast is mixed of. Growth comes in stretches: weeks in
// which much is written, and weeks in which little is. So a future is not made
// of any days of the past, but of weeks of one stretch of it; the ways differ in
// how far back they look. None wins everywhere; see docs/forecast.md.
//
// Rivals are what other tools do. predict_linear of Prometheus is a line through
// the last week or month. What tells one number only gets its range from the
// errors that it made before, on the same series.
var ways = []way{
	{"stretches of all of the past", stretch(math.Inf(1), 30), false},
	{"stretches of the last year", stretch(365, 30), false},
	{"stretches of the last months", stretch(90, 20), false},
	{"weeks of the last year with a drifting rate", drifting, false},
	{"since the slope changed", sinceChange, false},
	{"damped trend (Holt)", withErrors(holtTrend), false},
	{"line through 7 days", withErrors(weekTrend), true},
	{"line through 30 days", withErrors(monthTrend), true},
	{"line through the days it fits best", withErrors(windowTrend), true},
	{"weeks of all of the past (bootstrap)", anyWeeks, true},
}

// anyWeeks draws weeks of all of the past: the plain bootstrap of blocks.
func anyWeeks(p *past, r *rand.Rand, course []float64) { p.weeks(r, course, 0, len(p.added)) }

// stretch draws the weeks of one stretch of the past, of half days on either
// side of a day that is drawn, and rather a late one: memory is the mean of its age.
func stretch(memory float64, half int) func(*past, *rand.Rand, []float64) {
	return func(p *past, r *rand.Rand, course []float64) {
		n := len(p.added)
		mid := n - p.age(r, memory, n)
		from, to := max(0, mid-half), min(n, mid+half)
		if to-from < 2*week {
			from, to = max(0, min(from, to-2*week)), min(n, max(to, from+2*week))
		}
		p.weeks(r, course, from, to)
	}
}

// age draws how many days ago, below most.
func (p *past) age(r *rand.Rand, memory float64, most int) int {
	if math.IsInf(memory, 1) {
		return r.IntN(most)
	}
	for {
		if age := r.ExpFloat64() * memory; age < float64(most) {
			return int(age)
		}
	}
}

// weeks fills a course with weeks that are drawn from a part of the past, each
// with its weekdays in their places. Of what is not read each day they are as many whole readings
// as a week takes.
func (p *past) weeks(r *rand.Rand, course []float64, from, to int) {
	sum := 0.0
	for day := 0; day < len(course); day += p.whole(week) {
		length := min(p.whole(week), len(course)-day, to-from)
		sum = p.copyWeek(course, day, aligned(len(p.added), from+r.IntN(to-from-length+1), from, to-length, day, p.cycle), length, sum)
	}
}

// copyWeek adds the days of a week of the past to a course.
func (p *past) copyWeek(course []float64, day, at, length int, sum float64) float64 {
	for i := range min(p.whole(week), len(course)-day) {
		sum += p.added[at+i%length]
		course[day+i] = sum
	}
	return sum
}

// aligned moves a start to the nearest day from low to high that is the same day of a
// cycle as that day after now; where there is none it stays.
func aligned(now, at, low, high, day, cycle int) int {
	off := (now + day - at) % cycle
	if off < 0 {
		off += cycle
	}
	switch {
	case off <= cycle/2 && at+off <= high:
		return at + off
	case at+off-cycle >= low:
		return at + off - cycle
	case at+off <= high:
		return at + off
	}
	return at
}

// How much the rate of the next months may differ from that of the last year: a
// gamma distribution of this shape, whose deviation is 58 % of its mean.
const driftShape = 3

// drifting draws each week for itself, rather late ones, and multiplies the
// course by one factor: what is written a year from now is not what is written today.
func drifting(p *past, r *rand.Rand, course []float64) {
	n, sum := len(p.added), 0.0
	factor := gamma(r, driftShape) / driftShape
	for day := 0; day < len(course); day += p.whole(week) {
		length := min(p.whole(week), n)
		at := n - length - p.age(r, 365, n-length+1)
		sum = p.copyWeek(course, day, aligned(len(p.added), at, 0, n-length, day, p.cycle), length, sum)
	}
	for i := range course {
		course[i] *= factor
	}
}

// gamma draws from the gamma distribution of a shape of 1 or more (G. Marsaglia
// and W. Tsang, "A simple method for generating gamma variables", 2000).
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// sinceChange draws weeks of the time since the slope changed. A regime that is
// shorter than a month is mixed with the time before it, as far as it is short.
func sinceChange(p *past, r *rand.Rand, course []float64) {
	n := len(p.added)
	from := p.regime[n]
	length := n - from
	if length < week || float64(length) < 28*r.Float64() {
		stretchUsual(p, r, course)
		return
	}
	p.weeks(r, course, from, n)
	// The rate of a few readings is not known well: its error stays for the whole course.
	slip := p.spread(from) / math.Sqrt(float64(length)/float64(p.each)) * r.NormFloat64()
	for i := range course {
		course[i] += slip * float64(i+1)
	}
}

// course draws one future by a way. One that is no rival does not take the rate of the past
// for the true one: a factor, the same for the whole course, is as far off as that may be.
func (p *past) course(w way, r *rand.Rand, course []float64) {
	w.draw(p, r, course)
	if w.rival || p.unsure == 0 {
		return
	}
	factor := math.Exp(p.unsure*r.NormFloat64() - p.unsure*p.unsure/2) // its mean is 1
	for i := range course {
		course[i] *= factor
	}
}

// The rate of each month tells how well that of all is known: growth comes in stretches, so
// weeks would tell too little.
const (
	month      = 4 * week
	leastMonth = 6
	mostUnsure = 1 // of the rate itself
)

// A short past has only weeks, and those of one stretch say nothing of the next: they do not make the
// rate better known, however many they are.
const mostUnsureOfWeeks = 2

// rateError is the standard error of the rate, as a part of it, by how its months differ.
func rateError(level []float64) float64 {
	days := len(level) - 1
	if days < leastMonth*month {
		deviation, _ := spreadOf(level, week)
		return ofLogarithm(deviation, mostUnsureOfWeeks)
	}
	deviation, n := spreadOf(level, month)
	return ofLogarithm(deviation/math.Sqrt(float64(n)), mostUnsure)
}

// spreadOf is the deviation of the last n whole blocks of days, as a part of their mean; 0 of fewer than two.
func spreadOf(level []float64, block int) (part float64, n int) {
	last := len(level) - 1
	if n = last / block; n < 2 {
		return 0, n
	}
	mean, square := (level[last]-level[last-n*block])/float64(n), 0.0
	for k := range n {
		d := level[last-k*block] - level[last-(k+1)*block] - mean
		square += d * d
	}
	if square == 0 {
		return 0, n
	}
	return math.Sqrt(square/float64(n-1)) / math.Abs(mean), n
}

// ofLogarithm is the deviation of the logarithm of a factor whose own is part, or most.
func ofLogarithm(part, most float64) float64 {
	part = min(most, part)
	return math.Sqrt(math.Log1p(part * part))
}

// spread is the deviation of what each day added since a day.
func (p *past) spread(from int) float64 {
	x := p.added[from:]
	var sum, square float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	return math.Sqrt(square / float64(max(1, len(x)-1)))
}
