package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// autoregressive gives n values around level with deviation sigma, of which
// each depends on the one before by rho: noise as a server makes it.
func autoregressive(r *rand.Rand, n int, level, sigma, rho float64) []float64 {
	x := make([]float64, n)
	y := r.NormFloat64() * sigma
	for i := range x {
		x[i] = level + y
		y = rho*y + sigma*math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return x
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// How often the interval holds the true mean. Where few independent values
// are to be had it holds less often than stated, and then must warn.
func TestMeanCovers(t *testing.T) {
	for _, c := range []struct {
		n          int
		rho, least float64
	}{
		{10, 0, 0.94}, {60, 0, 0.94}, {60, 0.5, 0.92}, {300, 0.5, 0.935}, {300, 0.8, 0.925},
		{1800, 0, 0.94}, {1800, 0.8, 0.935}, {1800, 0.95, 0.93}, {20000, 0.95, 0.935},
	} {
		r := random(uint64(c.n))
		tries := min(2000, 2000000/c.n)
		held, warned := 0, 0
		for range tries {
			e := Mean(autoregressive(r, c.n, 100, 10, c.rho))
			if e.Low <= 100 && 100 <= e.High {
				held++
			}
			if len(e.Warnings) > 0 {
				warned++
			}
		}
		share := float64(held) / float64(tries)
		slack := 3 * math.Sqrt(0.05*0.95/float64(tries))
		if share < c.least-slack+0.01 || share > 0.985 {
			t.Errorf("%d values, correlation %g: %.3f of the intervals hold the mean, %d of %d warn", c.n, c.rho, share, warned, tries)
		}
	}
}

// Naive intervals would hold the mean of such a series a third of the time.
func TestMeanCountsIndependentValues(t *testing.T) {
	e := Mean(autoregressive(random(1), 3600, 100, 10, 0.9))
	want := 3600 * (1 - 0.9) / (1 + 0.9)
	if float64(e.N) < want/1.6 || float64(e.N) > want*1.6 {
		t.Errorf("%d independent values, want about %.0f", e.N, want)
	}
}

func TestMeanWarnsOfTooFew(t *testing.T) {
	for _, x := range [][]float64{{5}, {5, 6}, autoregressive(random(1), 20, 100, 10, 0.95), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, math.NaN(), 3, 2}} {
		if e := Mean(x); len(e.Warnings) == 0 {
			t.Errorf("no warning for %v: %+v", x, e)
		}
	}
	if e := Mean(autoregressive(random(1), 300, 100, 10, 0.3)); len(e.Warnings) > 0 {
		t.Errorf("warnings for plenty of values: %v", e.Warnings)
	}
}

func TestMeanOfNothing(t *testing.T) {
	if e := Mean(nil); e.N != 0 || e.Value != 0 || e.Low != 0 {
		t.Errorf("%+v", e)
	}
	if e := Mean([]float64{7, 7, 7, 7}); e.Value != 7 || e.Low != 7 || e.High != 7 {
		t.Errorf("%+v", e)
	}
}

// Whatever comes in, the interval holds the value, and N is in bounds.
func TestMeanHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(rapid.Float64Range(-1e12, 1e12)).Draw(t, "x")
		kept := slices.Clone(x)
		e := Mean(x)
		if !(e.Low <= e.Value && e.Value <= e.High) || e.N < 0 || e.N > len(x) || len(x) > 0 && e.N == 0 {
			t.Fatalf("%+v", e)
		}
		if !slices.Equal(kept, x) {
			t.Fatal("the values were changed")
		}
	})
}

func TestStudent(t *testing.T) {
	for degrees, want := range map[float64]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 30: 2.042, 1e6: 1.960} {
		if got := student(degrees); math.Abs(got-want) > 0.0005*want {
			t.Errorf("%g degrees: %.4f, want %.4f", degrees, got, want)
		}
	}
}
