package stats

// Steadiness is the judgement of Steady.
type Steadiness struct {
	Reached bool
	From    int     // index of the first value of the first window from which all windows are steady
	Range   float64 // of the last window: largest less smallest, as a part of its mean
	Slope   float64 // of the last window: rise of the fitted line over it, as a part of its mean
}

// Steady looks for the part of a series from which on every window of the
// given length stays within a range and a slope, both as parts of its mean.
func Steady(values []float64, window int, rangeLimit, slopeLimit float64) Steadiness {
	var s Steadiness
	for at := len(values) - window; at >= 0 && window > 1; at-- {
		w := values[at : at+window]
		low, high, sum, moment := w[0], w[0], 0.0, 0.0
		for i, v := range w {
			low, high, sum = min(low, v), max(high, v), sum+v
			moment += v * (float64(i) - float64(window-1)/2)
		}
		mean, n := sum/float64(window), float64(window)
		spread := (high - low) / mean
		slope := moment / (n * (n*n - 1) / 12) * (n - 1) / mean
		if at == len(values)-window {
			s.Range, s.Slope = spread, slope
		}
		if !(spread <= rangeLimit && slope <= slopeLimit && -slope <= slopeLimit) {
			return s
		}
		s.Reached, s.From = true, at
	}
	return s
}
