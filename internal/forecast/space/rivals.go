package space

import (
	"slices"

	"plumb/internal/forecast"
)

// A rival is a naive way to forecast: from the levels of some days, one a day,
// it tells what is added within h days more. Rivals that tell one number get their
// quantiles from the errors that they made before, on the same series.
type rival struct {
	name string
	of   func(level []float64, h int) float64
}

// rivals are what other tools do: predict_linear of Prometheus is a line through
// the last day, week or month; some take the window that a line fits best.
var rivals = []rival{
	{"line through 1 day", func(x []float64, h int) float64 { return line(x, 2, h) }},
	{"line through 7 days", func(x []float64, h int) float64 { return line(x, 8, h) }},
	{"line through 30 days", func(x []float64, h int) float64 { return line(x, 31, h) }},
	{"line through the window it fits best", bestWindow},
	{"damped trend (Holt)", dampedHolt},
}

// line fits the last n levels by least squares, and goes on for h days.
func line(x []float64, n, h int) float64 {
	x = x[len(x)-min(n, len(x)):]
	a, b, _ := fit(x)
	return a + b*float64(len(x)-1+h) - x[len(x)-1]
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

// bestWindow goes on with the line of the window that ends today and has the
// greatest R² (M. Chamness, "Capacity forecasting in a backup storage
// environment", LISA 2011).
func bestWindow(x []float64, h int) float64 {
	best, window := -1.0, min(len(x), 10)
	for _, n := range []int{10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 540, 730} {
		if n > len(x) {
			break
		}
		if _, _, r2 := fit(x[len(x)-n:]); r2 > best {
			best, window = r2, n
		}
	}
	return line(x, window, h)
}

// dampedHolt smooths level and trend, and lets the trend fade; of some
// constants it takes those whose errors of one day were least.
func dampedHolt(x []float64, h int) float64 {
	f := newHolts(x[0])
	for _, v := range x[1:] {
		f.see(v)
	}
	return f.best().course(h - 1)
}

// withErrors gives a rival's quantiles: what it says now, and the errors it
// made at earlier days, one every step days.
func (r rival) withErrors(x []float64, h, step int) forecast.Quantiles {
	now := r.of(x, h)
	var errs []float64
	for at := len(x) - h; at > leastDays; at -= step {
		errs = append(errs, x[at+h-1]-x[at-1]-r.of(x[:at], h))
	}
	slices.Sort(errs)
	var q forecast.Quantiles
	for i, p := range forecast.Levels {
		q[i] = now + quantile(errs, p)
	}
	return q
}

// quantile of sorted values, between them by a straight line; 0 of none.
func quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return 0
	}
	at := p * float64(len(x)-1)
	i := int(at)
	if i+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
}
