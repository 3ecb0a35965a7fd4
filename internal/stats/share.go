package stats

import "math"

// Share is a share of k among n with its 95 % interval, which also holds for shares near 0 and 1 (E. B. Wilson, 1927). Of none it may
// be anything.
func Share(k, n float64) Estimate {
	if n <= 0 {
		return Estimate{Low: 0, High: 1}
	}
	const z = 1.959964
	k = min(max(k, 0), n)
	p, z2 := k/n, z*z
	middle, half := (p+z2/(2*n))/(1+z2/n), z/(1+z2/n)*math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	e := Estimate{Value: p, Low: max(0, middle-half), High: min(1, middle+half), N: int(n)}
	if k == 0 { // what is left of it there is rounding
		e.Low = 0
	}
	if k == n {
		e.High = 1
	}
	return e
}
