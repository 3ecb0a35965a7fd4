package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// course is a work of 2,000 lumps: the seconds that each took.
func course(r *rand.Rand, next func(r *rand.Rand, i int) float64) []float64 {
	took := make([]float64, 2000)
	for i := range took {
		took[i] = next(r, i)
	}
	return took
}

// courses are works as they go: even ones, ones that stumble, in which good and bad minutes follow each other, or in bursts, as several
// objects that are on their way at once arrive.
func courses() map[string]func() func(r *rand.Rand, i int) float64 {
	return map[string]func() func(r *rand.Rand, i int) float64{
		"even": func() func(*rand.Rand, int) float64 { return func(*rand.Rand, int) float64 { return 3 } },
		"any": func() func(*rand.Rand, int) float64 {
			return func(r *rand.Rand, _ int) float64 { return r.ExpFloat64() }
		},
		"stumbles": func() func(*rand.Rand, int) float64 {
			return func(r *rand.Rand, _ int) float64 {
				if r.IntN(50) == 0 {
					return 20
				}
				return 0.5 + r.Float64()
			}
		},
		"minutes": func() func(*rand.Rand, int) float64 {
			y := 0.0
			return func(r *rand.Rand, _ int) float64 {
				y = 0.9*y + 0.1*r.NormFloat64()
				return math.Exp(y)
			}
		},
		"bursts": func() func(*rand.Rand, int) float64 {
			return func(r *rand.Rand, i int) float64 {
				if i%6 != 5 {
					return 0
				}
				return 4 + 2*r.Float64()
			}
		},
	}
}

// How often the interval of what is left holds what it then took. What was not seen yet cannot be in it: a rare stumble, or minutes that
// last longer than all that is done, are missed at the beginning.
func TestPaceHolds(t *testing.T) {
	const tries = 400
	for name, begin := range courses() {
		for _, at := range []int{40, 200, 1000, 1800, 1990} { // lumps that are done
			r, held, unknown := random(uint64(at)), 0, 0
			for range tries {
				took := course(r, begin())
				var p Pace
				for _, s := range took[:at] {
					p.Add(16, s)
				}
				rest := 0.0
				for _, s := range took[at:] {
					rest += s
				}
				e := p.Left(float64(len(took)-at) * 16)
				if e.N == 0 {
					unknown++
					continue
				}
				if e.Low < 0 || e.High < e.Value {
					t.Fatalf("%s, after %d: %+v", name, at, e)
				}
				if e.Low <= rest*(1+1e-9) && rest <= e.High*(1+1e-9) {
					held++
				}
			}
			least := 0.9
			if at == 40 && (name == "stumbles" || name == "minutes") {
				least = 0.5
			}
			if share := float64(held) / float64(tries-unknown); share < least || unknown > tries/10 && name != "minutes" {
				t.Errorf("%s, after %d of 2,000: %.3f of the intervals hold, and %d are unknown", name, at, share, unknown)
			} else {
				t.Logf("%s, after %d: %.3f hold, %d are unknown", name, at, share, unknown)
			}
		}
	}
}

// A line that becomes slower for good is seen in the interval, or nothing is said.
func TestPaceChanges(t *testing.T) {
	r := random(7)
	for _, at := range []int{1200, 1500, 1800} {
		var p Pace
		for i := range at {
			p.Add(1, (0.5+r.Float64())*[]float64{1, 2}[i/1000])
		}
		if e, rest := p.Left(float64(2000-at)), 2*float64(2000-at); e.N > 0 && (e.Low > rest || rest > e.High) {
			t.Errorf("after %d: %g to %g s, and it takes %g", at, e.Low, e.High, rest)
		}
	}
}

// Of what has hardly begun nothing is known, and the rest of nothing takes no time.
func TestPaceBegins(t *testing.T) {
	var p Pace
	known := func() bool { return p.Left(100).N > 0 }
	if known() || !math.IsNaN(p.PerSecond()) {
		t.Error("something is known of what has not begun")
	}
	p.Add(0, 1)
	p.Add(math.NaN(), 1)
	p.Add(1, -1)
	p.Add(math.Inf(1), 1)
	for range leastParts - 1 {
		p.Add(10, 2)
	}
	if known() {
		t.Error("something is known after too few")
	}
	p.Add(10, 2)
	if e := p.Left(100); math.Abs(e.Value-21.25) > 1e-9 { // of the first second, in which nothing was done, too
		t.Errorf("%+v", e)
	}
	if e := p.Left(0); e.Value != 0 || e.High != 0 || e.N == 0 {
		t.Errorf("%+v", e)
	}
	if got := p.PerSecond(); math.Abs(got-80.0/17) > 1e-9 {
		t.Error(got)
	}
	if e := new(Pace).Left(0); e.N > 0 {
		t.Errorf("%+v", e)
	}
	var q Pace
	for range 20 {
		q.Add(1, 0) // a clock that does not go on
	}
	if q.Left(10).N > 0 || !math.IsNaN(q.PerSecond()) {
		t.Error("something is known of a clock that stands")
	}
	for range 10_000 {
		p.Add(10, 2)
	}
	if len(p.values) >= mostParts {
		t.Error("it remembers more with each part")
	}
}
