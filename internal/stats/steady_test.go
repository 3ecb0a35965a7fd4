package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSteadyAfterWarmUp(t *testing.T) {
	x := autoregressive(random(1), 300, 1000, 40, 0.3) // single seconds differ by a fifth of the mean
	for i := range 90 {
		x[i] *= 0.3 + 0.7*float64(i)/90
	}
	s := Steady(x, 30, 0.2, 0.1)
	if !s.Reached || s.From < 50 || s.From > 100 {
		t.Errorf("steady from %d: %+v, want from about 70 to 90", s.From, s)
	}
}

// Noise on a level must be found steady, and a trend or a step must not.
func TestSteadyRates(t *testing.T) {
	flat, drifting, stepping := 0, 0, 0
	for seed := range uint64(300) {
		x := autoregressive(random(seed), 300, 1000, 50, 0.5)
		if s := Steady(x, 30, 0.2, 0.1); s.Reached {
			flat++
		}
		falling, step := append([]float64(nil), x...), append([]float64(nil), x...)
		for i := range x {
			falling[i] *= 1 - 0.8*float64(i)/300 // at the end by a third of the rest in a window
		}
		for i := 285; i < 300; i++ {
			step[i] *= 0.7
		}
		if s := Steady(falling, 30, 0.2, 0.1); s.Reached {
			drifting++
		}
		if s := Steady(step, 30, 0.2, 0.1); s.Reached {
			stepping++
		}
	}
	if flat < 285 || drifting > 3 || stepping > 3 {
		t.Errorf("of 300, steady: level %d, falling %d, a step at the end %d", flat, drifting, stepping)
	}
}

func TestSteadyNever(t *testing.T) {
	for _, x := range [][]float64{nil, {1}, make([]float64, 100), {1, 1, 1, math.NaN(), 1, 1}} {
		if s := Steady(x, 5, 0.2, 0.1); s.Reached {
			t.Errorf("%v is steady: %+v", x, s)
		}
	}
}

func TestSteadySlope(t *testing.T) {
	x := make([]float64, 50)
	for i := range x {
		x[i] = 100 + float64(i)*20/49 // up by 20 of 110 from end to end, by 16 between the middles of the outer rounds
	}
	s := Steady(x, 50, 1, 0.1)
	if s.Reached || math.Abs(s.Slope-16./110) > 0.005 || math.Abs(s.Range-s.Slope) > 1e-9 {
		t.Errorf("%+v", s)
	}
}

func TestSteadyHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0, 1000), 0, 60).Draw(t, "x")
		window := rapid.IntRange(-1, 70).Draw(t, "window")
		s := Steady(x, window, 0.2, 0.1)
		if s.Reached && (s.From < 0 || s.From+window > len(x) || s.Range > 0.2 || math.Abs(s.Slope) > 0.1) {
			t.Fatalf("%+v", s)
		}
	})
}
