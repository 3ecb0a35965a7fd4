package search

import (
	"math"
	"slices"
)

// surface is what trials show of all points of the space: a Gaussian process,
// that is a mean and a deviation at every point.
type surface struct {
	shape    shape
	sample   sample
	factor   triangle  // of the covariance of the trials
	weights  []float64 // of the trials, in a mean
	variance float64   // of the effects
	fit      float64   // logarithm of the likelihood, but for a constant
}

// What is expected of effects before anything is measured: they vary by about a
// fifth, which counts as much as two trials do.
const (
	guessed = 0.04 // variance of the logarithm
	worth   = 2    // trials
)

// surfaceOf joins trials and a shape; false when they do not fit together
// numerically.
func surfaceOf(s sample, h shape, by likenesses) (*surface, bool) {
	k := s.covariance(h, by)
	if !k.factor() {
		return nil, false
	}
	n := float64(len(s.y))
	z := k.forward(s.y)
	misfit := dot(z, z) + worth*guessed
	f := &surface{shape: h, sample: s, factor: k, variance: misfit / (n + worth), weights: k.backward(z)}
	f.fit = -(n+worth)/2*math.Log(misfit) - k.volume()/2
	return f, true
}

// toward gives the covariance of a point with each trial.
func (f *surface) toward(x []float64) []float64 {
	k := make([]float64, len(f.sample.x))
	for i, at := range f.sample.x {
		k[i] = f.shape.likeness(x, at)
	}
	return k
}

// predict gives the mean and the deviation at a point, of the logarithm of the
// ratio to the reference.
func (f *surface) predict(x []float64) (mean, deviation float64) {
	k := f.toward(x)
	half := f.factor.forward(k)
	left := level + 1 - dot(half, half)
	return dot(k, f.weights), math.Sqrt(max(0, left) * f.variance)
}

// fitted finds the shape under which the trials are most likely: each length in
// turn, then noise and sum, twice.
func fitted(s sample, dimensions int) (*surface, bool) {
	h := shape{length: make([]float64, dimensions), sum: 0.8, noise: 0.03}
	for d := range h.length {
		h.length[d] = 0.7
	}
	by := s.likenesses(h.length)
	best, ok := surfaceOf(s, h, by)
	if !ok {
		return nil, false
	}
	likely := best.fit + prior(h)
	try := func(h shape, by likenesses) bool {
		f, ok := surfaceOf(s, h, by)
		if !ok || f.fit+prior(h) <= likely {
			return false
		}
		best, likely = f, f.fit+prior(h)
		return true
	}
	for range 2 {
		for d := range dimensions {
			by = tryLengths(s, d, best.shape, by, try)
		}
		for _, noise := range []float64{0.0005, 0.002, 0.01, 0.03, 0.1, 0.3, 1} {
			h := best.shape
			h.noise = noise
			try(h, by)
		}
		for _, sum := range []float64{0.3, 0.6, 0.9} {
			h := best.shape
			h.sum = sum
			try(h, by)
		}
	}
	return best, true
}

// tryLengths tries other lengths of one dimension, and gives the likenesses of
// the best.
func tryLengths(s sample, d int, h shape, by likenesses, try func(shape, likenesses) bool) likenesses {
	for _, length := range []float64{0.25, 0.7, 1.5, none} {
		if length == h.length[d] {
			continue
		}
		other := h
		other.length = slices.Clone(h.length)
		other.length[d] = length
		with := append(likenesses(nil), by...)
		with[d] = s.along(d, length)
		if try(other, with) {
			h, by = other, with
		}
	}
	return by
}

// none is the length of a dimension that has no effect.
const none = 5

// prior says which shapes are likely before anything is measured: settings
// bend what they change over a good part of their range, and a trial's noise is
// a few hundredths of the effects' variance.
func prior(h shape) (sum float64) {
	for _, l := range h.length {
		if l < 0.5 {
			sum -= 1.5
		}
		if l >= none {
			sum -= 0.3
		}
	}
	off := math.Log10(h.noise / 0.02)
	return sum - off*off/2
}
