package stats

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	power     = 0.8 // how often what is looked for must be found
	promise   = 0.7 // of the futures that a number of further blocks must decide
	forecasts = 600 // futures that are drawn
)

// MostMore is the largest number of blocks that is promised to decide.
const MostMore = 1000

// Smallest is the smallest difference, as a part, that as many blocks of the
// same noise find with a chance of 80 %, at a level of 5 % on two sides; NaN
// when the noise is not known.
func (c Comparison) Smallest() float64 { return Detectable(c.deviation, c.n) }

// Detectable is Smallest for a standard deviation between blocks of the
// logarithm of a ratio.
func Detectable(deviation float64, blocks int) float64 {
	if blocks < 2 || math.IsNaN(deviation) {
		return math.NaN()
	}
	return math.Expm1(shift(blocks-1) * deviation / math.Sqrt(float64(blocks)))
}

// shift is how many standard errors a true difference must be away from none,
// for the test to find it with a chance of 80 %: that of a noncentral t, which
// is a normal value by the root of a chi-squared one. The other side of the
// test is left out: it finds a difference of the wrong sign.
func shift(degrees int) float64 {
	const points, widest = 200, 100
	d := float64(degrees)
	chi, test := distuv.ChiSquared{K: d}, studentAt(1-Level/2, d)
	needed := make([]float64, points)
	for i := range needed {
		needed[i] = test * math.Sqrt(chi.Quantile((float64(i)+0.5)/points)/d)
	}
	low, high := 0.0, float64(widest)
	for high-low > 1e-6 {
		middle, found := (low+high)/2, 0.0
		for _, t := range needed {
			found += distuv.UnitNormal.CDF(middle-t) / points
		}
		if found < power {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// More is the number of further blocks after which the comparison will
// probably be decided, one way or the other: seven times in ten; 0 when it is
// decided by now, at most [MostMore]. level is the chance that P must be below:
// 0.05, or less where it is one of several comparisons.
//
// The chance is that of the futures that the blocks so far leave open: neither
// the difference nor the noise is taken for known. Planning with both as they
// happened to be seen promises too much. A difference that is well away from
// the margin is decided more often than that.
func (c Comparison) More(margin, level float64) int {
	if c.n < 2 {
		return max(1, 3-c.n)
	}
	if c.decided(c.mean, c.deviation*c.deviation*float64(c.n-1), 0, margin, level) || c.deviation == 0 {
		return 0
	}
	low, high := 0, 1
	for high < MostMore && c.forecast(high, margin, level) < promise {
		low, high = high, min(2*high, MostMore)
	}
	for high-low > 1 {
		if middle := (low + high) / 2; c.forecast(middle, margin, level) < promise {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// forecast is the chance that more blocks decide. The draws are the same for
// each number of blocks and each call.
func (c Comparison) forecast(more int, margin, level float64) float64 {
	r := rand.New(rand.NewPCG(uint64(c.n), 2))
	n, k := float64(c.n), float64(more)
	squares := c.deviation * c.deviation * (n - 1)
	test := c.test(more, margin, level)
	decided := 0
	for range forecasts {
		variance := squares / chiSquared(r, c.n-1)
		truth := c.mean + r.NormFloat64()*math.Sqrt(variance/n)
		next := truth + r.NormFloat64()*math.Sqrt(variance/k)
		off := next - c.mean
		all := squares + variance*chiSquared(r, more-1) + n*k/(n+k)*off*off
		if test(c.mean+off*k/(n+k), all) {
			decided++
		}
	}
	return float64(decided) / forecasts
}

func (c Comparison) decided(mean, squares float64, more int, margin, level float64) bool {
	return c.test(more, margin, level)(mean, squares)
}

// test makes the test after more blocks, of a mean and a sum of squares.
func (c Comparison) test(more int, margin, level float64) func(mean, squares float64) bool {
	n := c.n + more
	d := float64(n - 1)
	different, equal := studentAt(1-level/2, d), studentAt(1-Level, d)
	return func(mean, squares float64) bool {
		deviation := math.Sqrt(squares / d / float64(n))
		return math.Abs(mean) > different*deviation || math.Abs(mean)+equal*deviation <= math.Log1p(margin)
	}
}

// chiSquared draws a sum of squares of as many normal values; of many by the
// approximation of E. B. Wilson and M. M. Hilferty (1931).
func chiSquared(r *rand.Rand, degrees int) (sum float64) {
	if degrees >= 10 {
		part := 2 / (9 * float64(degrees))
		root := 1 - part + r.NormFloat64()*math.Sqrt(part)
		return float64(degrees) * root * root * root
	}
	for range degrees {
		z := r.NormFloat64()
		sum += z * z
	}
	return sum
}
