package space

import "math"

// holts are damped trends of several constants, which see the same levels.
type holts []holt

type holt struct{ alpha, beta, phi, level, trend, loss, seen float64 }

func newHolts(first float64) (f holts) {
	for _, alpha := range []float64{0.2, 0.5, 0.8, 1} {
		for _, beta := range []float64{0.02, 0.1, 0.3} {
			for _, phi := range []float64{0.9, 0.98, 0.995} {
				f = append(f, holt{alpha: alpha, beta: beta, phi: phi, level: first, seen: first})
			}
		}
	}
	return f
}

// see takes the level of one more day.
func (f holts) see(v float64) {
	for i := range f {
		h := &f[i]
		foretold := h.level + h.phi*h.trend
		h.loss += (v - foretold) * (v - foretold)
		next := h.alpha*v + (1-h.alpha)*foretold
		h.trend = h.beta*(next-h.level) + (1-h.beta)*h.phi*h.trend
		h.level, h.seen = next, v
	}
}

// best is that of the constants whose errors of one day were least until now.
func (f holts) best() trend {
	b := f[0]
	for _, h := range f {
		if h.loss < b.loss {
			b = h
		}
	}
	return trend{b.level - b.seen, b.trend, b.phi}
}

// fading is phi + phi² + … to the power n.
func fading(phi float64, n int) float64 {
	if phi == 1 {
		return float64(n)
	}
	return phi * (1 - math.Pow(phi, float64(n))) / (1 - phi)
}
