package stats

import (
	"math"
	"testing"
)

// switching makes a run in the order A B B A B A A B …, which drifts and of
// which A is more by an effect.
func switching(seed uint64, quadruples, seconds int, effect, drift, noise float64) (all []Period) {
	r := random(seed)
	x := autoregressive(r, 4*quadruples*seconds, 0, noise, 0.8)
	for q := range quadruples {
		for i := range 4 {
			a := (i == 0 || i == 3) == (q%2 == 0)
			p := Period{A: a}
			for range seconds {
				at := len(all)*seconds + len(p.Values)
				v := 1000 * (1 + drift*float64(at) + x[at])
				if a {
					v *= 1 + effect
				}
				p.Values = append(p.Values, v)
			}
			all = append(all, p)
		}
	}
	return all
}

// A steady drift falls out: here the rate doubles during the run.
func TestSwitchedRemovesDrift(t *testing.T) {
	periods := switching(1, 4, 30, 0, 1./480, 0)
	pairs, warnings := Switched(periods)
	if len(pairs) != 4 || len(warnings) > 0 {
		t.Fatalf("%v %v", pairs, warnings)
	}
	for _, p := range pairs {
		if math.Abs(p.A/p.B-1) > 1e-9 {
			t.Errorf("quadruple %d: %g and %g", p.Block, p.A, p.B)
		}
	}
}

// Equal arms are called different as seldom as promised though the seconds of
// periods, and neighbouring periods, depend on one another; a planted 5 % is
// found.
func TestSwitchedRates(t *testing.T) {
	const tries = 1000
	different, found := 0, 0
	for seed := range uint64(tries) {
		for _, effect := range []float64{0, 0.05} {
			pairs, _ := Switched(switching(seed, 6, 20, effect, 0.0005, 0.05))
			c := Compare(pairs)
			switch w := c.Judge(c.P, 0.001); {
			case effect == 0 && (w == Higher || w == Lower):
				different++
			case effect > 0 && w == Higher:
				found++
			}
		}
	}
	if different < tries*2/100 || different > tries*7/100 || found < tries*75/100 {
		t.Errorf("of %d equal ones %d were called different; a planted 5 %% was found in %d", tries, different, found)
	}
}

func TestSwitchedRefuses(t *testing.T) {
	period := func(a bool) Period { return Period{A: a, Values: []float64{1, 2}} }
	for _, c := range []struct {
		periods         []Period
		pairs, warnings int
	}{
		{nil, 0, 0},
		{[]Period{period(true), period(false)}, 0, 1},
		{[]Period{period(true), period(false), period(true), period(false)}, 0, 1},
		{[]Period{period(true), period(true), period(true), period(true)}, 0, 1},
		{[]Period{period(true), {}, period(false), period(true)}, 0, 1},
		{[]Period{period(true), period(false), {Values: []float64{math.NaN()}}, period(true)}, 0, 1},
		{[]Period{period(false), period(true), period(true), period(false), period(true)}, 1, 1},
	} {
		if pairs, warnings := Switched(c.periods); len(pairs) != c.pairs || len(warnings) != c.warnings {
			t.Errorf("%v: %v %v", c.periods, pairs, warnings)
		}
	}
}
