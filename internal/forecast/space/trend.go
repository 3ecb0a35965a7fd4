package space

import "math/rand/v2"

// trendsEach is each how many days the trends are made of the past, for the errors they made: on
// each day of the week in turn, or on days that were read, because a trend of a day between two
// of them would know what came.
func (p *past) trendsEach() int { return p.whole(5) }

// The kinds of trends.
const (
	holtTrend = iota
	weekTrend
	monthTrend
	windowTrend
	kindsOfTrends
)

// trend goes on with this much a day, which fades unless phi is 1.
type trend struct{ jump, slope, phi float64 }

func (t trend) after(days int) float64 { return t.jump + t.slope*fading(t.phi, days) }

// newTrends makes the trends of each kind that were valid at days of the past,
// each of the levels until then alone.
func newTrends(level []float64, each int) [][]trend {
	all := make([][]trend, kindsOfTrends)
	f := newHolts(level[0])
	for i, v := range level {
		if i > 0 {
			f.see(v)
		}
		if i%each == 0 || i == len(level)-1 {
			x := level[:i+1]
			all[holtTrend] = append(all[holtTrend], f.best())
			all[weekTrend] = append(all[weekTrend], line(x, week+1))
			all[monthTrend] = append(all[monthTrend], line(x, 31))
			all[windowTrend] = append(all[windowTrend], line(x, bestWindow(x)))
		}
	}
	return all
}

// withErrors goes on with a trend, and adds the error that the trend of its kind
// made from some day in the past.
func withErrors(kind int) func(*past, *rand.Rand, []float64) {
	return func(p *past, r *rand.Rand, course []float64) {
		n, h, trends, each := len(p.added), len(course), p.trends[kind], p.trendsEach()
		now := trends[n/each] // up to some days old, so that it knows nothing of what came later
		if n == p.all {
			now = trends[len(trends)-1]
		}
		first, last := leastDays/each, (n-h)/each
		if last <= first { // no time that is as long has passed yet
			stretchUsual(p, r, course)
			return
		}
		then := first + r.IntN(last-first+1)
		from := then * each
		for i := range course {
			course[i] = now.after(i+1) + p.level[from+i+1] - p.level[from] - trends[then].after(i+1)
		}
	}
}

// line fits the last n levels by least squares.
func line(x []float64, n int) trend {
	x = x[len(x)-min(n, len(x)):]
	a, b, _ := fit(x)
	return trend{a + b*float64(len(x)-1) - x[len(x)-1], b, 1}
}

// fit gives a line's value at the first x, its slope, and R².
func fit(x []float64) (a, b, r2 float64) {
	n := float64(len(x))
	if n < 2 {
		return x[0], 0, 0
	}
	var sx, sy, sxx, sxy, syy float64
	for i, v := range x {
		t := float64(i)
		v -= x[0] // large levels that hardly change keep their digits
		sx, sy, sxx, sxy, syy = sx+t, sy+v, sxx+t*t, sxy+t*v, syy+v*v
	}
	cov, vt, vy := sxy-sx*sy/n, sxx-sx*sx/n, syy-sy*sy/n
	b = cov / vt
	if vy > 0 {
		r2 = cov * cov / vt / vy
	}
	return x[0] + (sy-b*sx)/n, b, r2
}

var windows = [...]int{10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 540, 730}

// bestWindow is how many levels a line fits best, by R² (M. Chamness, "Capacity
// forecasting in a backup storage environment", LISA 2011).
func bestWindow(x []float64) int {
	best, window := -1.0, min(len(x), windows[0])
	for _, n := range windows {
		if n > len(x) {
			break
		}
		if _, _, r2 := fit(x[len(x)-n:]); r2 > best {
			best, window = r2, n
		}
	}
	return window
}
