package stats

import (
	"math"
	"testing"
)

func TestShare(t *testing.T) {
	for _, c := range []struct{ k, n, low, high float64 }{
		{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {50, 100, 0.4038, 0.5962}, {3, 30, 0.0346, 0.2562}, {0, 0, 0, 1},
	} {
		if i := Share(c.k, c.n); math.Abs(i.Low-c.low) > 1e-3 || math.Abs(i.High-c.high) > 1e-3 {
			t.Errorf("%v of %v: %+v", c.k, c.n, i)
		}
	}
}
