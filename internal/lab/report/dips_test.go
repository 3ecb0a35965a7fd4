package report

import (
	"math/rand/v2"
	"testing"

	"plumb/internal/lab/experiment"
)

// minutes gives two arms of so many trials of a minute each. Every operation comes at
// random; of b, 47 % fewer come for 3 s of every 15.
func minutes(r *rand.Rand, trials int, dipping bool) (all []experiment.Record) {
	for block := range trials {
		for p, arm := range []string{"a", "b"} {
			rec := record(experiment.Trial{Block: block + 1, Position: p + 1, Arm: arm}, 2000)
			phase := r.IntN(15)
			for s := -3; s < 60; s++ {
				rate := 2000.0
				if dipping && arm == "b" && (s+3+phase)%15 < 3 {
					rate *= 0.53
				}
				rec.Series = append(rec.Series, experiment.Second{At: float64(s + 4), Length: 1, Warmup: s < 0, Done: int64(rate + 45*r.NormFloat64())})
			}
			all = append(all, rec)
		}
	}
	return all
}

// TestDipsAreNamed: with period, length and depth, each with what is not known of it.
func TestDipsAreNamed(t *testing.T) {
	for seed := range uint64(20) {
		r := Make(twoArms(), minutes(rand.New(rand.NewPCG(seed, 1)), 2, true))
		d := r.Arm("b").Dips
		if d == nil || r.Arm("a").Dips != nil {
			t.Fatalf("seed %d: a %+v, b %+v", seed, r.Arm("a").Dips, d)
		}
		for what, c := range map[string]struct {
			low, value, high, want float64
		}{"period": {d.Every.Low, d.Every.Value, d.Every.High, 15}, "length": {d.Length.Low, d.Length.Value, d.Length.High, 3}} {
			if !(c.low <= c.want && c.want <= c.high) || c.high-c.low < 1 || c.high-c.low > 3 {
				t.Errorf("seed %d: the %s is %g (%g to %g), want %g", seed, what, c.value, c.low, c.high, c.want)
			}
		}
		if d.Depth.Value < 0.44 || d.Depth.Value > 0.50 || d.N < 7 || d.N > 10 || !(d.P > 0 && d.P < 0.01) {
			t.Errorf("seed %d: %+v", seed, d)
		}
	}
}

// TestWhiteNoiseHasNoDips, however many trials there are, and a minute of one trial is
// too little to tell.
func TestWhiteNoiseHasNoDips(t *testing.T) {
	wrong := 0
	for seed := range uint64(100) {
		r := Make(twoArms(), minutes(rand.New(rand.NewPCG(seed, 2)), 1+int(seed%8), false))
		for _, a := range r.Arms {
			if a.Dips != nil {
				wrong++
			}
		}
	}
	if wrong > 1 {
		t.Errorf("dips in white noise, %d times of 200", wrong)
	}
	if d := Make(twoArms(), minutes(rand.New(rand.NewPCG(1, 1)), 1, true)).Arm("b").Dips; d != nil {
		t.Errorf("of four dips: %+v", d)
	}
}

// TestTurnsAreNoSeries: seconds of arms that take turns do not follow one another.
func TestTurnsAreNoSeries(t *testing.T) {
	for _, design := range []string{experiment.ABBA, experiment.Interleaved} {
		x := twoArms()
		x.Design = design
		if d := Make(x, minutes(rand.New(rand.NewPCG(1, 1)), 4, true)).Arm("b").Dips; d != nil {
			t.Errorf("%s: %+v", design, d)
		}
	}
}
