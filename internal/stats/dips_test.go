package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// dipping is noise with dips: of a depth and width, every so many steps, give
// or take a part jitter of that.
type dipping struct {
	n, period, width      int
	depth, sigma, jittery float64
}

func (d dipping) series(r *rand.Rand) []float64 {
	x := autoregressive(r, d.n, 100, d.sigma, 0.5)
	for at := float64(r.IntN(d.period)); at < float64(d.n); at += float64(d.period) * (1 + d.jittery*r.NormFloat64()) {
		for i := int(at); i < min(int(at)+d.width, d.n); i++ {
			x[i] *= 1 - d.depth
		}
	}
	return x
}

func TestDipsAreFound(t *testing.T) {
	for _, c := range []struct {
		dipping
		least int // found of 20
	}{
		{dipping{300, 40, 2, 1, 5, 0}, 19},          // a stall of two seconds every forty: seed:binlog-02
		{dipping{600, 40, 2, 0.3, 5, 0.1}, 19},      // as shallow and irregular as a checkpoint
		{dipping{600, 40, 2, 0.2, 5, 0.1}, 18},      //
		{dipping{600, 10, 4, 0.5, 5, 0}, 19},        // two fifths of the time
		{dipping{600, 60, 24, 0.5, 5, 0}, 19},       //
		{dipping{3600, 300, 60, 0.47, 5, 0.05}, 19}, // from 1.5 to 0.8 GB/s: seed:ssd-01
		{dipping{3600, 300, 20, 0.1, 5, 0.05}, 8},   // hardly to be seen
		{dipping{14400, 1800, 600, 0.47, 5, 0}, 19},
	} {
		found, held, regimes := 0, 0, 0
		var period, depth, share float64
		for seed := range uint64(20) {
			a := Analyse(c.series(random(seed)))
			if len(a.Regimes) > 1 {
				regimes++
			}
			d := a.Dips
			if d == nil {
				continue
			}
			found++
			period, depth, share = period+d.Period.Value, depth+d.Depth.Value, share+d.Share.Value
			if d.Period.Low <= float64(c.period) && float64(c.period) <= d.Period.High {
				held++
			}
		}
		within(t, "period", period/float64(found), float64(c.period), 0.02)
		within(t, "depth", depth/float64(found), c.depth, 0.15) // of shallow ones the deeper are found
		within(t, "share", share/float64(found), float64(c.width)/float64(c.period), 0.05)
		if found < c.least || held < found*8/10 || regimes > 2 {
			t.Errorf("%+v: found %d of 20, %d intervals hold the period, %d with other regimes", c, found, held, regimes)
		}
	}
}

// Dips at random times are no regular ones, however clear they are.
func TestDipsAtRandomTimes(t *testing.T) {
	for _, every := range []float64{20, 60, 200} {
		wrong := 0
		const tries = 60
		for seed := range uint64(tries) {
			r := random(seed)
			x := autoregressive(r, 1800, 100, 3, 0.5)
			for at := 0; at < len(x); {
				at += 1 + int(r.ExpFloat64()*every)
				for end := at + 1 + r.IntN(4); at < min(end, len(x)); at++ {
					x[at] *= 0.5
				}
			}
			a := Analyse(x)
			if a.Dips != nil {
				wrong++
			} else if len(a.Doubts) != 1 {
				t.Errorf("nothing is said of %v", a)
			}
		}
		if wrong > 2 { // of 60, at a chance below 1 % each
			t.Errorf("random dips, one in %g steps, were taken for regular %d of %d times", every, wrong, tries)
		}
	}
}

// Noise of any correlation must give no dips, no regimes and no burst.
func TestNoiseShowsNothing(t *testing.T) {
	for _, n := range []int{60, 120, 300, 1800} {
		for _, rho := range []float64{0, 0.5, 0.8, 0.95} {
			dips, regimes, bursts, falls := 0, 0, 0, 0
			tries := min(200, 100000/n)
			for seed := range tries {
				a := Analyse(autoregressive(random(uint64(seed+n)), n, 100, 15, rho))
				if a.Dips != nil {
					dips++
				}
				if len(a.Regimes) > 1 {
					regimes++
				}
				if a.Burst != nil {
					bursts++
				}
				if len(a.Doubts) > 0 {
					falls++
				}
			}
			if falls > tries/50 || dips > tries/50 || regimes > tries/20 || bursts > tries/50 {
				t.Errorf("%d values, correlation %g: of %d, %d with dips, %d with regimes, %d with bursts, %d with falls", n, rho, tries, dips, regimes, bursts, falls)
			}
		}
	}
}

func TestFewFalls(t *testing.T) {
	x := autoregressive(random(1), 120, 1000, 40, 0.5)
	for _, at := range []int{20, 60, 100} {
		x[at] = 0
	}
	a := Analyse(x)
	if a.Dips != nil || len(a.Doubts) != 1 || !strings.HasPrefix(a.Doubts[0], "3 falls, the deepest by 100 % at step") {
		t.Errorf("%+v", a)
	}
	step := stepping{300, 150, 0.5, 3, 0.5}.series(1)
	if a := Analyse(step); len(a.Doubts) > 0 {
		t.Errorf("a step: %v", a.Doubts)
	}
}

func TestDipsBesideAStep(t *testing.T) {
	found, steps := 0, 0
	for seed := range uint64(20) {
		x := dipping{1200, 40, 2, 0.5, 4, 0.05}.series(random(seed))
		for i := 500; i < len(x); i++ {
			x[i] *= 0.6
		}
		a := Analyse(x)
		if a.Dips != nil && math.Abs(a.Dips.Period.Value-40) < 2 {
			found++
		}
		if a.Burst != nil && math.Abs(a.Burst.At.Value-500) < 5 {
			steps++
		}
	}
	if found < 18 || steps < 18 {
		t.Errorf("of 20 found %d dips and %d steps", found, steps)
	}
}

// TestDipsOfSeveralSeries: four dips in a minute are too few to be sure of, twice four
// are not, and noise in many series shows no more than in one.
func TestDipsOfSeveralSeries(t *testing.T) {
	for seed := range uint64(20) {
		r := random(seed)
		planted := dipping{60, 15, 3, 0.47, 1, 0}
		one, two := planted.series(r), planted.series(r)
		if d := FindDips(1, one); d != nil {
			t.Errorf("seed %d: of one series %+v", seed, d)
		}
		d := FindDips(4, one, two)
		if d == nil {
			t.Errorf("seed %d: none were found", seed)
			continue
		}
		within(t, "period", d.Period.Value, 15, 0.02)
		within(t, "depth", d.Depth.Value, 0.47, 0.05)
		within(t, "share", d.Share.Value, 0.2, 0.1)
	}
	for _, rho := range []float64{0, 0.5, 0.8, 0.95} {
		wrong, tries := 0, 200
		for seed := range tries {
			r, all := random(uint64(seed)), [][]float64(nil)
			for range 8 {
				all = append(all, autoregressive(r, 60, 100, 15, rho))
			}
			if FindDips(1, all...) != nil {
				wrong++
			}
		}
		if wrong > tries/50 {
			t.Errorf("correlation %g: dips in noise %d of %d times", rho, wrong, tries)
		}
	}
	if FindDips(1) != nil || FindDips(1, nil, []float64{1, 2, 3}) != nil {
		t.Error("there are dips in nothing")
	}
}
