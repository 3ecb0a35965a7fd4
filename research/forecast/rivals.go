package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"plumb/internal/forecast"
)

// rival tells one number: what is taken in h days. It gets its quantiles from the
// errors that it made before, one a week. These are written anew here, so that
// the rivals are not judged by the code that they are to be compared with.
type rival struct {
	name string
	of   func(x []float64, h int) float64
}

var rivals = []rival{
	{"line through 1 day (predict_linear)", func(x []float64, h int) float64 { return line(x, 2, h) }},
	{"line through 7 days (predict_linear)", func(x []float64, h int) float64 { return line(x, 8, h) }},
	{"line through 30 days (predict_linear)", func(x []float64, h int) float64 { return line(x, 31, h) }},
	{"line through the window of the best R²", bestWindow},
	{"damped Holt, constants of least error", holt},
}

func (r rival) withErrors(x []float64, h int) (q forecast.Quantiles) {
	now := r.of(x, h)
	var errs []float64
	for at := len(x) - h; at > 31; at -= 7 {
		errs = append(errs, x[at+h-1]-r.of(x[:at], h))
	}
	slices.Sort(errs)
	for i, p := range forecast.Levels {
		q[i] = now + quantile(errs, p)
	}
	return q
}

func quantile(x []float64, p float64) float64 {
	at := p * float64(len(x)-1)
	i := min(int(at), len(x)-2)
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
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

func holt(x []float64, h int) float64 {
	best, at := math.Inf(1), 0.0
	for _, alpha := range []float64{0.2, 0.5, 0.8, 1} {
		for _, beta := range []float64{0.02, 0.1, 0.3} {
			for _, phi := range []float64{0.9, 0.98, 0.995} {
				level, trend, loss := x[0], 0.0, 0.0
				for _, v := range x[1:] {
					f := level + phi*trend
					loss += (v - f) * (v - f)
					next := alpha*v + (1-alpha)*f
					trend = beta*(next-level) + (1-beta)*phi*trend
					level = next
				}
				if loss < best {
					best, at = loss, level+trend*phi*(1-math.Pow(phi, float64(h)))/(1-phi)
				}
			}
		}
	}
	return at
}

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
		q[i] = quantile(ends, p)
	}
	return q
}
