package stats

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// meanOf is the statistic of which the right interval is known.
func meanOf(x []float64) func(times []int) []float64 {
	return func(times []int) []float64 {
		sum, n := 0.0, 0
		for i, k := range times {
			sum, n = sum+float64(k)*x[i], n+k
		}
		return []float64{sum / float64(n)}
	}
}

// Intervals of few trials hold about as often as those of Student do.
func TestBootstrapCovers(t *testing.T) {
	for _, n := range []int{3, 5, 8, 20} {
		r := random(uint64(n))
		held, narrow := 0, 0
		const tries = 1000
		for seed := range uint64(tries) {
			x := autoregressive(r, n, 100, 10, 0)
			e := Bootstrap(n, seed, meanOf(x))[0]
			if e.Low <= 100 && 100 <= e.High {
				held++
			}
			if s := Independent(x); e.High-e.Low < (s.High-s.Low)/2 {
				narrow++
			}
		}
		if held < tries*90/100 || held > tries*98/100 || narrow > tries/50 {
			t.Errorf("%d trials: %d of %d intervals hold the mean, %d are less than half as wide as Student's", n, held, tries, narrow)
		}
	}
}

func TestBootstrapOfLittle(t *testing.T) {
	if e := Bootstrap(0, 1, nil); e != nil {
		t.Errorf("%+v", e)
	}
	e := Bootstrap(1, 1, meanOf([]float64{7}))[0]
	if e.Value != 7 || !math.IsInf(e.Low, -1) || !math.IsInf(e.High, 1) || len(e.Warnings) == 0 {
		t.Errorf("one trial: %+v", e)
	}
	if e := Bootstrap(3, 1, meanOf([]float64{7, 8, 9}))[0]; len(e.Warnings) == 0 {
		t.Errorf("three trials: %+v", e)
	}
}

func TestBootstrapHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1)})), 1, 9).Draw(t, "x")
		seed := rapid.Uint64().Draw(t, "seed")
		e := Bootstrap(len(x), seed, meanOf(x))[0]
		if !math.IsNaN(e.Value) && !(e.Low <= e.Value && e.Value <= e.High) {
			t.Fatalf("%v: %+v", x, e)
		}
		if again := Bootstrap(len(x), seed, meanOf(x))[0]; !math.IsNaN(e.Value) && !reflect.DeepEqual(e, again) {
			t.Fatalf("%+v and %+v", e, again)
		}
	})
}

func TestIndependent(t *testing.T) {
	e := Independent([]float64{1, 2, 3, math.NaN()})
	if e.Value != 2 || e.N != 3 || len(e.Warnings) != 1 || math.Abs(e.High-2-4.3027/math.Sqrt(3)) > 1e-3 {
		t.Errorf("%+v", e)
	}
	if e := Independent([]float64{5}); e.Value != 5 || !math.IsInf(e.High, 1) || len(e.Warnings) == 0 {
		t.Errorf("%+v", e)
	}
	if e := Independent(nil); e.N != 0 || !math.IsNaN(e.Value) {
		t.Errorf("%+v", e)
	}
}

func TestVariationAndStalls(t *testing.T) {
	x := []float64{100, 110, 90, 100, 0, 5, 100, 100}
	if n := Stalls(x); n != 2 {
		t.Errorf("%d stalls", n)
	}
	if v := Variation([]float64{90, 110}); math.Abs(v-0.1414) > 1e-3 {
		t.Errorf("variation %g", v)
	}
	for _, x := range [][]float64{nil, {1}, {0, 0}} {
		if v := Variation(x); !math.IsNaN(v) {
			t.Errorf("%v varies by %g", x, v)
		}
	}
	if Stalls(nil) != 0 || Stalls([]float64{0, 0, 0}) != 0 {
		t.Error("stalls where nothing was done at all")
	}
}
