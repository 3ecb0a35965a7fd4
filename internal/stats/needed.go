package stats

import (
	"math"
	"math/rand/v2"
)

const (
	power     = 0.8 // how often what is looked for must be found
	forecasts = 600 // futures that are drawn
)

// MostMore is the largest number of blocks that is promised to decide.
const MostMore = 1000

// Smallest is the smallest difference, as a part, that as many blocks of the
// same noise find with a chance of 80 %, at a level of 5 % on two sides; NaN
// when the noise is not known.
func (c Comparison) Smallest() float64 { return Detectable(c.deviation, c.n) }

// Detectable is Smallest for a standard deviation between blocks of the
// logarithm of a ratio (H. S. Bloom, "Minimum detectable effects", 1995).
func Detectable(deviation float64, blocks int) float64 {
	if blocks < 2 || math.IsNaN(deviation) {
		return math.NaN()
	}
	d := float64(blocks - 1)
	return math.Expm1((studentAt(1-Level/2, d) + studentAt(power, d)) * deviation / math.Sqrt(float64(blocks)))
}

// More is the number of further blocks after which the comparison will be
// decided, one way or the other, with a chance of 80 %; 0 when it is decided
// by now, at most [MostMore]. level is the chance that P must be below: 0.05, or less
// where it is one of several comparisons.
//
// The chance is that of the futures that the blocks so far leave open: neither
// the difference nor the noise is taken for known. Planning with both as they
// happened to be seen promises too little.
func (c Comparison) More(margin, level float64) int {
	if c.n < 2 {
		return max(1, 3-c.n)
	}
	if c.decided(c.mean, c.deviation*c.deviation*float64(c.n-1), 0, margin, level) || c.deviation == 0 {
		return 0
	}
	low, high := 0, 1
	for high < MostMore && c.forecast(high, margin, level) < power {
		low, high = high, min(2*high, MostMore)
	}
	for high-low > 1 {
		if middle := (low + high) / 2; c.forecast(middle, margin, level) < power {
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
