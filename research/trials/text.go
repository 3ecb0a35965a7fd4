package trials

import (
	"fmt"
	"math"
	"strconv"

	"plumb/internal/stats"
)

// Value writes an estimate with its interval.
func Value(e stats.Estimate) string {
	switch {
	case e.N == 0 || math.IsNaN(e.Value):
		return "not known"
	case e.N == 1 || math.IsInf(e.Low, 0):
		return Digits(e.Value) + " (one block)"
	}
	return fmt.Sprintf("%s (%s to %s)", Digits(e.Value), Digits(e.Low), Digits(e.High))
}

// Digits writes a number to three of them.
func Digits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
