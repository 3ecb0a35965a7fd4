package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

const resamples = 400

// Bootstrap estimates statistics of n trials together by drawing whole trials,
// with replacement: what belongs to one trial stays together. It is for what
// cannot be averaged, such as percentiles of merged histograms. of computes the
// statistics, always the same number of them, where each trial i is taken
// times[i] times; times is used again after it returns.
//
// The same seed gives the same intervals. Few trials resemble one another too
// much when they are drawn again: the intervals are widened as Student's t
// widens those of a mean (T. Hesterberg, "What teachers should know about the
// bootstrap", 2015), by ratios where all values are above zero. The interval of
// one trial is not known.
func Bootstrap(n int, seed uint64, of func(times []int) []float64) []Estimate {
	times := make([]int, max(0, n))
	for i := range times {
		times[i] = 1
	}
	if n < 1 {
		return nil
	}
	whole := slices.Clone(of(times))
	all := make([]Estimate, len(whole))
	if n == 1 {
		for i, v := range whole {
			all[i] = Estimate{Value: v, Low: math.Inf(-1), High: math.Inf(1), N: 1, Warnings: []string{"one trial: how much chance there is in it is not known"}}
		}
		return all
	}
	drawn := make([][]float64, len(whole))
	r := rand.New(rand.NewPCG(seed, 3))
	for range resamples {
		clear(times)
		for range n {
			times[r.IntN(n)]++
		}
		for i, v := range of(times)[:len(whole)] {
			drawn[i] = append(drawn[i], v)
		}
	}
	wider := math.Sqrt(float64(n)/float64(n-1)) * student(float64(n-1)) / student(math.Inf(1))
	for i, v := range whole {
		all[i] = widened(v, drawn[i], wider)
		all[i].N = n
		if n < fewIndependent/2 {
			all[i].Warnings = []string{count(n, "trial") + ": few for an interval"}
		}
	}
	return all
}

// widened gives the interval of drawn values, stretched about the value.
func widened(value float64, drawn []float64, by float64) Estimate {
	x := slices.Sorted(slices.Values(numbers(drawn)))
	if len(x) < len(drawn) || math.IsNaN(value) {
		return Estimate{Value: value, Low: math.Inf(-1), High: math.Inf(1)}
	}
	low, high := Quantile(x, Level/2), Quantile(x, 1-Level/2)
	low, high = min(low, value), max(high, value)
	if low > 0 {
		return Estimate{Value: value, Low: value * math.Pow(low/value, by), High: value * math.Pow(high/value, by)}
	}
	return Estimate{Value: value, Low: value - by*(value-low), High: value + by*(high-value)}
}
