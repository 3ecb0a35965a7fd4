package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"plumb/internal/forecast"
	"plumb/internal/stats"
)

// rival tells one number: what is taken in h days. It gets its quantiles from the
// errors that it made before, one a week. These are written anew here, so that
// the rivals are not judged by the code that they are to be compared with.
type rival struct {
	name string
	all  func(x []float64, h int) []float64 // [n] is what it says after n values
}

func each(of func(x []float64, h int) float64) func([]float64, int) []float64 {
	return func(x []float64, h int) []float64 {
		at := make([]float64, len(x)+1)
		for n := len(x); n > 31; n-- {
			if n == len(x) || (len(x)-h-n)%7 == 0 {
				at[n] = of(x[:n], h)
			}
		}
		return at
	}
}

var rivals = []rival{
	{"line through 1 day (predict_linear)", each(func(x []float64, h int) float64 { return line(x, 2, h) })},
	{"line through 7 days (predict_linear)", each(func(x []float64, h int) float64 { return line(x, 8, h) })},
	{"line through 30 days (predict_linear)", each(func(x []float64, h int) float64 { return line(x, 31, h) })},
	{"line through the window of the best R²", each(bestWindow)},
	{"damped Holt, constants of least error", holts},
}

func (r rival) withErrors(x []float64, h int) (q forecast.Quantiles) {
	said := r.all(x, h)
	var errs []float64
	for at := len(x) - h; at > 31; at -= 7 {
		errs = append(errs, x[at+h-1]-said[at])
	}
	slices.Sort(errs)
	for i, p := range forecast.Levels {
		q[i] = said[len(x)] + stats.Quantile(errs, p)
	}
	return q
}

func line(x []float64, n, h int) float64 {
	x = x[max(0, len(x)-n):]
	a, b, _ := fit(x)
	return a + b*float64(len(x)-1+h)
}

func fit(x []float64) (a, b, r2 float64) {
	n := float64(len(x))
	mt, mx := (n-1)/2, 0.0
	for _, v := range x {
		mx += v / n
	}
	var tt, tx, xx float64
	for i, v := range x {
		dt, dx := float64(i)-mt, v-mx
		tt, tx, xx = tt+dt*dt, tx+dt*dx, xx+dx*dx
	}
	b = tx / tt
	if xx > 0 {
		r2 = tx * tx / tt / xx
	}
	return mx - b*mt, b, r2
}

func bestWindow(x []float64, h int) float64 {
	best, window := -1.0, 10
	for _, n := range []int{10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 540, 730} {
		if n <= len(x) {
			if _, _, r2 := fit(x[len(x)-n:]); r2 > best {
				best, window = r2, n
			}
		}
	}
	return line(x, window, h)
}

// holts are damped trends of several constants, of which the one counts whose
// errors of one day were least until then.
func holts(x []float64, h int) (at []float64) {
	type state struct{ alpha, beta, phi, level, trend, loss float64 }
	var all []state
	for _, alpha := range []float64{0.2, 0.5, 0.8, 1} {
		for _, beta := range []float64{0.02, 0.1, 0.3} {
			for _, phi := range []float64{0.9, 0.98, 0.995} {
				all = append(all, state{alpha: alpha, beta: beta, phi: phi, level: x[0]})
			}
		}
	}
	at = make([]float64, len(x)+1) // at[n]: what is said after n values
	for n, v := range x {
		best := math.Inf(1)
		for i := range all {
			s := &all[i]
			if n > 0 {
				f := s.level + s.phi*s.trend
				s.loss += (v - f) * (v - f)
				next := s.alpha*v + (1-s.alpha)*f
				s.trend = s.beta*(next-s.level) + (1-s.beta)*s.phi*s.trend
				s.level = next
			}
			if s.loss < best {
				best, at[n+1] = s.loss, s.level+s.trend*fading(s.phi, h)
			}
		}
	}
	return at
}

func fading(phi float64, h int) float64 { return phi * (1 - math.Pow(phi, float64(h))) / (1 - phi) }

const bootstrapName = "plain bootstrap of 7-day blocks"

// bootstrap draws blocks of seven days from all of the past, 2,000 times.
func bootstrap(x []float64, h int) (q forecast.Quantiles) {
	r := rand.New(rand.NewPCG(uint64(len(x)), 1))
	ends := make([]float64, 2000)
	for k := range ends {
		ends[k] = x[len(x)-1]
		for left := h; left > 0; left -= 7 {
			b := min(7, left)
			i := r.IntN(len(x) - b)
			ends[k] += x[i+b] - x[i]
		}
	}
	slices.Sort(ends)
	for i, p := range forecast.Levels {
		q[i] = stats.Quantile(ends, p)
	}
	return q
}
