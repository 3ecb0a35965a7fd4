package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// series makes seconds with a drift over all of them, and noise.
func series(r *rand.Rand, n int, drift, noise float64) (all []float64) {
	for i := range n {
		all = append(all, 1000*(1+drift*float64(i)/float64(n)+noise*r.NormFloat64()))
	}
	return all
}

func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	beyond := func(drift, noise float64) (n int) {
		for range 1000 {
			if e := Drift(series(r, 20, drift, noise)); e.Low > 0.1 || e.High < -0.1 {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		drift, noise float64
		low, high    int
	}{{0, 0.3, 0, 30}, {0, 0.05, 0, 10}, {0.6, 0.05, 950, 1000}, {-0.6, 0.05, 950, 1000}, {0.1, 0.02, 0, 10}} {
		if n := beyond(c.drift, c.noise); n < c.low || n > c.high {
			t.Errorf("drift %v with noise %v: beyond ±10 %% in %d of 1000", c.drift, c.noise, n)
		}
	}
	for _, few := range [][]float64{nil, {1}, {1, 2, 3}, {0, 0, 0, 0, 0, 0}} {
		if e := Drift(few); !math.IsInf(e.High, 1) {
			t.Errorf("the drift of %v is known: %+v", few, e)
		}
	}
}
