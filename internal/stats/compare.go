package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Paired is what one block measured of two arms under the same conditions.
// The values must be above zero, in the same unit.
type Paired struct {
	Block int
	A, B  float64 // of the arm, and of the baseline it is compared with
}

// Comparison is what blocks show of the ratio A/B.
//
// It rests on the logarithms of the blocks' ratios. What a block has of its
// own, such as a slower hour, falls out of a ratio; how much trials vary
// within themselves shows in how the ratios vary from block to block, so that
// seconds which depend on one another need no correction.
type Comparison struct {
	Effect Estimate // A/B - 1: 0.05 is 5 % more; infinite limits: the interval is not known
	P      float64  // that blocks of equal arms would differ so much; NaN: not known

	mean, deviation float64 // of the logarithms
	n               int
}

// What a comparison shows.
const (
	Higher     = "higher"     // A is
	Lower      = "lower"      // A is
	Equivalent = "equivalent" // no difference larger than the margin
	Undecided  = "undecided"
)

// Level is the chance at which equal arms may be called different.
const Level = 0.05

// Compare compares two arms over blocks. Blocks with a value that is not above
// zero have no ratio, and are left out with a warning. Several pairs of one
// block count as one: their geometric mean.
func Compare(pairs []Paired) Comparison {
	logs := blockRatios(pairs)
	c := Comparison{n: len(logs), P: math.NaN(), deviation: math.NaN()}
	var warnings []string
	if out := leftOut(pairs); out > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %s left out: without values above zero there is no ratio", out, count(len(pairs), "pair")))
	}
	if c.n == 0 {
		c.mean = math.NaN()
		c.Effect = unknown()
		c.Effect.Warnings = append(warnings, "no block has both arms")
		return c
	}
	mean, variance := moments(logs)
	c.mean = mean
	if c.n == 1 {
		warnings = append(warnings, "one block: how much chance there is in it is not known")
	} else {
		c.deviation = math.Sqrt(variance)
		c.P = c.chance()
		if variance == 0 {
			warnings = append(warnings, "all blocks show exactly the same ratio: these may not be measurements")
		}
	}
	c.Effect = c.ratio(Level)
	c.Effect.Warnings = warnings
	return c
}

// Narrow is the effect with its 90 % interval, by which equivalence is judged.
func (c Comparison) Narrow() Estimate { return c.ratio(2 * Level) }

// blockRatios gives the logarithm of each block's ratio, by block.
func blockRatios(pairs []Paired) []float64 {
	type ratio struct {
		block int
		log   float64
	}
	var all []ratio
	for _, p := range pairs {
		if positive(p.A) && positive(p.B) {
			all = append(all, ratio{p.Block, math.Log(p.A) - math.Log(p.B)})
		}
	}
	slices.SortFunc(all, func(a, b ratio) int { return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.log, b.log)) })
	var logs []float64
	for from := 0; from < len(all); {
		to, sum := from, 0.0
		for ; to < len(all) && all[to].block == all[from].block; to++ {
			sum += all[to].log
		}
		logs = append(logs, sum/float64(to-from))
		from = to
	}
	return logs
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

func leftOut(pairs []Paired) (n int) {
	for _, p := range pairs {
		if !positive(p.A) || !positive(p.B) {
			n++
		}
	}
	return n
}

// unknown is an estimate of which nothing is known.
func unknown() Estimate {
	return Estimate{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
}

// ratio gives the effect with the interval that misses it with a chance of
// level.
func (c Comparison) ratio(level float64) Estimate {
	e := Estimate{Value: math.Expm1(c.mean), Low: math.Inf(-1), High: math.Inf(1), N: c.n}
	if c.n > 1 {
		half := c.half(level)
		e.Low, e.High = math.Expm1(c.mean-half), math.Expm1(c.mean+half)
	}
	return e
}

// half is half the width of the interval of the logarithm of the ratio.
func (c Comparison) half(level float64) float64 {
	if c.n < 2 {
		return math.Inf(1)
	}
	return studentAt(1-level/2, float64(c.n-1)) * c.deviation / math.Sqrt(float64(c.n))
}

// Reach is how far the 95 % interval reaches to either side, as a part:
// 0.05 is ±5 %. It is infinite when the interval is not known.
func (c Comparison) Reach() float64 {
	if c.n < 2 {
		return math.Inf(1)
	}
	return (1+c.Effect.High)/(1+c.Effect.Value) - 1
}

func (c Comparison) chance() float64 {
	if c.deviation == 0 {
		if c.mean == 0 {
			return 1
		}
		return 0
	}
	t := math.Abs(c.mean) / c.deviation * math.Sqrt(float64(c.n))
	return min(1, 2*distuv.StudentsT{Sigma: 1, Nu: float64(c.n - 1)}.Survival(t))
}

// Judge tells what the comparison shows. p is its P, or that corrected for the
// number of comparisons ([Holm]).
//
// The arms are equivalent when two one-sided tests say so, that is when the
// whole 90 % interval is within the margin; this goes before a difference that
// is sure but smaller. The margin is one of ratios: 0.05 reaches from 1/1.05 to
// 1.05, so that it is the same whichever arm is the baseline.
func (c Comparison) Judge(p, margin float64) string {
	switch {
	case c.n < 2:
		return Undecided
	case math.Abs(c.mean)+c.half(2*Level) <= math.Log1p(margin):
		return Equivalent
	case p < Level && c.mean > 0:
		return Higher
	case p < Level && c.mean < 0:
		return Lower
	}
	return Undecided
}

// studentAt gives a quantile of Student's t.
func studentAt(q, degrees float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile(q)
}

// deviationOf gives a standard deviation with its interval: that of the
// variance of normal values.
func deviationOf(s, degrees float64, n int) Estimate {
	if !(degrees > 0) {
		return Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), N: n}
	}
	chi := distuv.ChiSquared{K: degrees}
	return Estimate{Value: s, Low: s * math.Sqrt(degrees/chi.Quantile(1-Level/2)), High: s * math.Sqrt(degrees/chi.Quantile(Level/2)), N: n}
}

// Pooled gives the standard deviation between blocks of several comparisons
// together. Those that share a baseline agree in part, so they count as fewer.
func Pooled(all []Comparison) Estimate {
	var squares, degrees float64
	n, used := 0, 0
	for _, c := range all {
		if c.n < 2 {
			continue
		}
		d := float64(c.n - 1)
		squares, degrees = squares+d*c.deviation*c.deviation, degrees+d
		n, used = max(n, c.n), used+1
	}
	if used == 0 {
		return Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	const shared = 0.25 // correlation of the variances of two ratios with one baseline
	return deviationOf(math.Sqrt(squares/degrees), degrees/(1+shared*float64(used-1)), n)
}

// Holm corrects the chances of several comparisons for their number: that any
// of those below the level is a difference where there is none, then is at
// most the level (S. Holm, "A simple sequentially rejective multiple test
// procedure", 1979). Chances that are not known (NaN) stay so, and do not
// count. Intervals are not corrected by it: they hold for each by itself.
func Holm(p []float64) []float64 {
	var order []int
	adjusted := slices.Clone(p)
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(order)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
