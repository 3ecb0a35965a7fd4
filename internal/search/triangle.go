package search

import "math"

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
	x := append([]float64(nil), b...)
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
