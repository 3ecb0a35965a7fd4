package search

import (
	"math"
	"slices"
)

// shape says how alike the values at two points are taken to be.
//
// What settings do to a server is mostly the sum of what each does, and each
// bends gently: so most of the likeness is a sum over the dimensions, and the
// rest a product, for what two of them do together (D. Duvenaud, H. Nickisch
// and C. E. Rasmussen, "Additive Gaussian processes", 2011).
type shape struct {
	length []float64 // of each dimension, in parts of its range, over which its effect bends; large: it has none
	sum    float64   // part of the variance that is the sum's, of 0 to 1
	noise  float64   // variance of one trial, as a part of the variance of the effects
}

// level is the variance of the common level of all points, as a part of that
// of the effects: how far the whole region is from the reference is not known.
const level = 2

// matern is the likeness at a distance, for functions that bend twice.
func matern(distance, length float64) float64 {
	r := math.Sqrt(5) * math.Abs(distance) / length
	return (1 + r + r*r/3) * math.Exp(-r)
}

// likeness is the covariance of the effects at two points, as a part of their
// variance.
func (s shape) likeness(a, b []float64) float64 {
	sum, product := 0.0, 1.0
	for i, l := range s.length {
		m := matern(a[i]-b[i], l)
		sum += m
		product *= m
	}
	return level + s.join(sum, product)
}

func (s shape) join(sum, product float64) float64 {
	return s.sum*sum/float64(max(1, len(s.length))) + (1-s.sum)*product
}

// sample is the trials that have values.
type sample struct {
	x     [][]float64 // parts of the ranges
	y     []float64
	block []int
}

// shared is the noise that two trials have in common, as a part of that of
// one: each was compared with the reference of its block, which has as much
// noise as itself.
func (s sample) shared(i, j int) float64 {
	n := 0.0
	if s.block[i] == s.block[j] {
		n++
	}
	if i == j {
		n++
	}
	return n
}

// likenesses keeps the likeness of all trials by dimension, so that changing
// one length costs one dimension.
type likenesses [][]float64 // by dimension; rows of the lower triangle one after another

func (s sample) likenesses(length []float64) likenesses {
	all := make(likenesses, len(length))
	for d, l := range length {
		all[d] = s.along(d, l)
	}
	return all
}

func (s sample) along(d int, length float64) []float64 {
	out := make([]float64, 0, len(s.x)*(len(s.x)+1)/2)
	for i := range s.x {
		for j := range i + 1 {
			out = append(out, matern(s.x[i][d]-s.x[j][d], length))
		}
	}
	return out
}

// covariance adds up the covariance of the trials, noise included, as a part of
// the variance of the effects.
func (s sample) covariance(h shape, by likenesses) triangle {
	t := newTriangle(len(s.x))
	k := 0
	for i := range s.x {
		for j := range i + 1 {
			sum, product := 0.0, 1.0
			for d := range by {
				sum += by[d][k]
				product *= by[d][k]
			}
			t[i][j] = level + h.join(sum, product) + h.noise*s.shared(i, j)
			k++
		}
	}
	return t
}

// triangle is a symmetric matrix, or a factor of one: its lower half.
type triangle [][]float64

func newTriangle(n int) triangle {
	t := make(triangle, n)
	for i := range t {
		t[i] = make([]float64, i+1)
	}
	return t
}

// factor puts the Cholesky factor in place of a matrix. It is false when the
// matrix is not positive definite.
func (t triangle) factor() bool {
	for i, row := range t {
		for j := range i + 1 {
			sum, other := row[j], t[j]
			for k := range j {
				sum -= row[k] * other[k]
			}
			if i > j {
				row[j] = sum / other[j]
				continue
			}
			if !(sum > 0) {
				return false
			}
			row[i] = math.Sqrt(sum)
		}
	}
	return true
}

// forward solves L x = b.
func (t triangle) forward(b []float64) []float64 {
	x := make([]float64, len(t))
	for i, row := range t {
		x[i] = (b[i] - dot(row[:i], x)) / row[i]
	}
	return x
}

// backward solves Lᵀ x = b.
func (t triangle) backward(b []float64) []float64 {
	x := slices.Clone(b)
	for i := len(t) - 1; i >= 0; i-- {
		x[i] /= t[i][i]
		for j := range i {
			x[j] -= t[i][j] * x[i]
		}
	}
	return x
}

// volume is the logarithm of the determinant of the matrix.
func (t triangle) volume() (sum float64) {
	for i := range t {
		sum += 2 * math.Log(t[i][i])
	}
	return sum
}

// dot is the scalar product; b may be longer.
func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
