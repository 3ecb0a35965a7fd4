package stats

import (
	"fmt"
	"math"
)

// Independent estimates the mean of values that do not depend on one another,
// as those of separate trials. The interval of one value is not known: its
// limits are infinite. Values that are no numbers are left out.
func Independent(values []float64) Estimate {
	x := numbers(values)
	e := Estimate{N: len(x), Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	if len(x) < len(values) {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %d values were no numbers", len(values)-len(x), len(values)))
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
