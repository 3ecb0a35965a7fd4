// Package stats holds the statistics of measured series: estimates with their
// intervals, steadiness, capacity curves, periodic dips. It is pure.
package stats

import (
	"fmt"
	"math"
	"slices"
)

const (
	fewIndependent = 10   // below this an interval is a guess: in simulations it then misses more than one time in ten
	mostMeans      = 4096 // a longer series is averaged in batches first
)

// Mean estimates the mean of a series of values that depend on one another,
// as seconds of a server do: its interval rests on the effective number of
// independent values. Values that are no numbers are left out.
//
// The variance of the mean comes from the autocovariances up to where pairs
// of them cease to be positive and falling (C. J. Geyer, "Practical Markov
// chain Monte Carlo", 1992), less the bias from having estimated the mean
// itself. Negative correlation, as of a regular period, is not credited.
func Mean(values []float64) Estimate {
	x := numbers(values)
	e := Estimate{N: len(x)}
	if len(x) < len(values) {
		e.Warnings = append(e.Warnings, fmt.Sprintf("not a number: %d of %s", len(values)-len(x), count(len(values), "value")))
	}
	if len(x) == 0 {
		return e
	}
	batch := (len(x) + mostMeans - 1) / mostMeans
	means := batches(x, batch)
	mean, variance := moments(means)
	e.Value, _ = moments(x)
	e.Low, e.High = e.Value, e.Value
	if len(x) < 3 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%s: too few for an interval", count(len(x), "value")))
		return e
	}
	if variance == 0 {
		return e
	}
	long := longRun(means, mean, variance)
	independent := float64(len(means)) * variance / long
	half := student(independent-1) * math.Sqrt(long/float64(len(means)))
	e.Low, e.High = e.Value-half, e.Value+half
	e.N = max(1, int(independent))
	if e.N < fewIndependent {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d values, which depend on each other, count as only %d: too few for a sound interval", len(x), e.N))
	}
	return e
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func numbers(values []float64) []float64 {
	none := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	if !slices.ContainsFunc(values, none) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), none)
}

// batches gives the means of runs of size values; a rest at the start is left
// out, being the part nearest to warm-up.
func batches(x []float64, size int) []float64 {
	if size <= 1 {
		return x
	}
	rest := len(x) % size
	means := make([]float64, len(x)/size)
	for i := range means {
		means[i], _ = moments(x[rest+i*size : rest+(i+1)*size])
	}
	return means
}

// moments gives mean and variance of a sample.
func moments(x []float64) (mean, variance float64) {
	for i, v := range x { // stepwise, which does not overflow
		mean += (v - mean) / float64(i+1)
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	if len(x) < 2 {
		return mean, 0
	}
	return mean, variance / float64(len(x)-1)
}

// longRun is the variance of the mean of n values, times n; at least the
// variance of a value.
func longRun(x []float64, mean, variance float64) float64 {
	sum, last, lag := -autocovariance(x, mean, 0), math.Inf(1), 0
	for ; lag+1 < len(x)/2; lag += 2 {
		pair := autocovariance(x, mean, lag) + autocovariance(x, mean, lag+1)
		if pair <= 0 {
			break
		}
		last = min(pair, last)
		sum += 2 * last
	}
	if lag > 2 {
		sum /= 1 - float64(2*lag-1)/float64(len(x))
	}
	return max(sum, variance)
}

func autocovariance(x []float64, mean float64, lag int) (c float64) {
	for i := lag; i < len(x); i++ {
		c += (x[i] - mean) * (x[i-lag] - mean)
	}
	return c / float64(len(x)-lag)
}

// student gives the 97.5 % quantile of Student's t. Degrees below one count as
// one, and so many that it makes no difference as infinitely many.
func student(degrees float64) float64 {
	const many = 1e6
	if degrees > many {
		return 1.959963984540054
	}
	return studentAt(1-Level/2, max(1, degrees))
}

// Independent estimates the mean of values that do not depend on one another,
// as those of separate trials. The interval of one value is not known: its
// limits are infinite. Values that are no numbers are left out.
func Independent(values []float64) Estimate {
	x := numbers(values)
	e := Estimate{N: len(x), Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	if len(x) < len(values) {
		e.Warnings = append(e.Warnings, fmt.Sprintf("not a number: %d of %s", len(values)-len(x), count(len(values), "value")))
	}
	if len(x) == 0 {
		return e
	}
	mean, variance := moments(x)
	e.Value = mean
	if len(x) == 1 {
		e.Warnings = append(e.Warnings, "one value: how much chance there is in it is not known")
		return e
	}
	half := student(float64(len(x)-1)) * math.Sqrt(variance/float64(len(x)))
	e.Low, e.High = mean-half, mean+half
	return e
}

// Variation is the coefficient of variation of a series: its standard
// deviation by its mean. NaN when there are not two values, or their mean is
// not above zero.
func Variation(values []float64) float64 {
	mean, variance := moments(values)
	if len(values) < 2 || !(mean > 0) {
		return math.NaN()
	}
	return math.Sqrt(variance) / mean
}

// stalled is the part of the mean below which a second counts as one in which
// nothing went on.
const stalled = 0.1

// Stalls counts the values of a series that are below a tenth of its mean.
func Stalls(values []float64) (n int) {
	mean, _ := moments(values)
	for _, v := range values {
		if v < stalled*mean {
			n++
		}
	}
	return n
}

// Estimate is a measured or predicted number with its 95 % interval: the only
// way such a number is shown.
type Estimate struct {
	Value, Low, High float64
	N                int      // independent values it rests on, after correction for autocorrelation
	Warnings         []string // reasons to doubt it, for people
}

// Exactly is a number that was given, or follows from what was given by
// arithmetic: it has no doubt of its own.
func Exactly(v float64) Estimate { return Estimate{Value: v, Low: v, High: v} }

// Times is an estimate in another unit, or of so many alike.
func (e Estimate) Times(by float64) Estimate {
	e.Value, e.Low, e.High = e.Value*by, e.Low*by, e.High*by
	return e
}
