package stats

// Mean estimates the mean of a series of values that depend on one another.
func Mean(values []float64) Estimate {
	var e Estimate
	for _, v := range values {
		e.Value += v / float64(len(values))
	}
	e.Low, e.High, e.N = e.Value, e.Value, len(values)
	return e
}
