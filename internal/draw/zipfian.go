package draw

import (
	"fmt"
	"math"
)

// zipfian draws rank k with a frequency of k to the power -theta; the lowest
// key is the most frequent. It works by rejection-inversion (W. Hörmann and
// G. Derflinger, "Rejection-inversion to generate variates from monotone
// discrete distributions", 1996), which needs no table and no sum over the
// range: the integral H of the hat x^-theta is inverted, and the few values
// that fall outside the histogram are drawn again.
type zipfian struct {
	theta float64
	first float64 // H(1.5) - 1
	sure  float64 // values this close above their rank need no test
}

func newZipfian(theta float64) zipfian {
	z := zipfian{theta: theta}
	z.first = z.integral(1.5) - 1
	z.sure = 2 - z.inverse(z.integral(2.5)-z.hat(2))
	return z
}

func (z zipfian) Draw(s *Stream, a, b int64) int64 {
	t := span(a, b)
	n := float64(t) + 1
	last := z.integral(n + 0.5)
	for range 1000 { // nine of ten are accepted at once
		u := last + s.Float()*(z.first-last)
		x := z.inverse(u)
		k := max(1, min(n, math.Floor(x+0.5)))
		if k-x <= z.sure || u >= z.integral(k+0.5)-z.hat(k) {
			return at(a, k-1, t)
		}
	}
	return a
}

func (z zipfian) hat(x float64) float64 { return math.Exp(-z.theta * math.Log(x)) }

// integral of the hat from 1 to x: (x^(1-theta) - 1) / (1-theta), in a form
// that holds as theta nears 1.
func (z zipfian) integral(x float64) float64 {
	log := math.Log(x)
	if y := (1 - z.theta) * log; math.Abs(y) > 1e-8 {
		return math.Expm1(y) / y * log
	}
	return log
}

func (z zipfian) inverse(h float64) float64 {
	y := max(-1, (1-z.theta)*h) // rounding may go below -1
	if math.Abs(y) > 1e-8 {
		return math.Exp(math.Log1p(y) / y * h)
	}
	return math.Exp(h)
}

func (z zipfian) String() string { return fmt.Sprintf("zipfian (exponent %g)", z.theta) }

// NURand is the non-uniform random function of the TPC-C specification
// (2.1.6) over [x, y]: the bitwise or of two uniform values prefers numbers
// with many bits set, and c moves the preferred ones about.
func (s *Stream) NURand(A, x, y, c int64) int64 {
	return ((s.Between(0, A)|s.Between(x, y))+c)%(y-x+1) + x
}

// A of NURand, by what is drawn (TPC-C 2.1.6).
const (
	NURandLastName = 255
	NURandCustomer = 1023
	NURandItem     = 8191
)

// Constants are C of NURand, by what is drawn. They stay the same for the
// whole of a load and for the whole of a run, for all terminals.
type Constants struct{ LastName, Customer, Item int64 }

const constants = 0xc0 // the stream they are drawn from

// LoadConstants are those that data of this seed are made with.
func LoadConstants(seed uint64) Constants {
	s := Keyed(seed, constants, 0)
	return Constants{s.Between(0, NURandLastName), s.Between(0, NURandCustomer), s.Between(0, NURandItem)}
}

// RunConstants are those for running with one seed on data made with another.
// The specification (2.1.6.1) wants C for last names to differ from the one
// of the load by 65 to 119, and by neither 96 nor 112: otherwise the names
// that are asked for most would be those with the most customers, or with the
// fewest.
func RunConstants(load, run uint64) Constants {
	s := Keyed(run, constants, 1)
	was := LoadConstants(load).LastName
	for {
		c := Constants{s.Between(0, NURandLastName), s.Between(0, NURandCustomer), s.Between(0, NURandItem)}
		if d := max(c.LastName-was, was-c.LastName); d >= 65 && d <= 119 && d != 96 && d != 112 {
			return c
		}
	}
}
