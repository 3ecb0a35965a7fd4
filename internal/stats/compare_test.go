package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// lab simulates randomised complete blocks as a lab makes them: a trial is the
// mean of seconds that depend on one another (AR(1), 0.8), trials have noise of
// their own, and all drifts from block to block and within blocks.
type lab struct {
	effect float64 // of A
	sigma  float64 // of a trial
	second float64 // of a second
	drift  float64 // of a block
}

// inBlock is the part of a block's drift between its two trials.
const inBlock = 0.2

func (l lab) block(r *rand.Rand, number int) Paired {
	level := 1000 * math.Exp(l.drift*(float64(number)+0.5*r.NormFloat64()))
	var values [2]float64
	first := r.IntN(2)
	for position := range 2 {
		arm := (first + position) % 2
		trial := level * math.Exp(l.sigma*r.NormFloat64()-inBlock*l.drift*float64(position))
		if arm == 0 {
			trial *= 1 + l.effect
		}
		values[arm], _ = moments(autoregressive(r, 20, trial, l.second*trial, 0.8))
	}
	return Paired{Block: number, A: values[0], B: values[1]}
}

func (l lab) blocks(r *rand.Rand, from, to int) (all []Paired) {
	for b := from; b <= to; b++ {
		all = append(all, l.block(r, b))
	}
	return all
}

var noisy = lab{sigma: 0.02, second: 0.1, drift: 0.03}

// Of comparisons of equal arms as many are called different as are promised.
func TestEqualArmsAreSeldomDifferent(t *testing.T) {
	for _, blocks := range []int{2, 3, 5, 8} {
		const tries = 4000
		r := random(uint64(blocks))
		called := 0
		for range tries {
			c := Compare(noisy.blocks(r, 1, blocks))
			if w := c.Judge(c.P, 0.001); w == Higher || w == Lower {
				called++
			}
		}
		if share := float64(called) / tries; share < 0.035 || share > 0.065 {
			t.Errorf("%d blocks: %.2f %% of comparisons of equal arms were called different", blocks, 100*share)
		}
	}
}

// The naive test, which takes seconds for independent, would be wrong most of
// the time: that is what the design is for.
func TestSecondsAreNoTrials(t *testing.T) {
	r := random(1)
	wrong := 0
	const tries = 500
	for range tries {
		a, b := autoregressive(r, 20, 1000*math.Exp(0.02*r.NormFloat64()), 100, 0.8), autoregressive(r, 20, 1000*math.Exp(0.02*r.NormFloat64()), 100, 0.8)
		ma, va := moments(a)
		mb, vb := moments(b)
		if math.Abs(ma-mb) > 2.02*math.Sqrt((va+vb)/20) {
			wrong++
		}
	}
	if wrong < tries/4 {
		t.Errorf("the naive test was wrong only %d times in %d: the simulation is too easy", wrong, tries)
	}
}

// Intervals hold the truth as often as they say.
func TestEffectIntervalsCover(t *testing.T) {
	r := random(3)
	l := noisy
	l.effect = 0.2
	const tries = 3000
	held, deviation := 0, 0
	truth := math.NaN()
	if all := Compare(l.blocks(r, 1, 20000)); true {
		truth = all.deviation
		if math.Abs(all.Effect.Value-0.2) > 0.003 {
			t.Errorf("the effect of very many blocks is %+v", all.Effect)
		}
	}
	for range tries {
		c := Compare(l.blocks(r, 1, 5))
		if c.Effect.Low <= 0.2 && 0.2 <= c.Effect.High {
			held++
		}
		if d := deviationOf(c.deviation, float64(c.n-1), c.n); d.Low <= truth && truth <= d.High {
			deviation++
		}
	}
	for what, n := range map[string]int{"the effect": held, "the deviation": deviation} {
		if share := float64(n) / tries; share < 0.935 || share > 0.965 {
			t.Errorf("%.3f of the intervals hold %s", share, what)
		}
	}
}

// What is promised to be found with so many blocks is found: a planted 5 % at
// the noise at which 5 % is the smallest difference.
func TestPlantedDifferenceIsFound(t *testing.T) {
	for _, blocks := range []int{3, 4, 6, 12} {
		r := random(uint64(blocks))
		deviation := math.Log(1.05) / math.Log1p(Detectable(1, blocks)) // Detectable is linear in the logarithm
		const drift = 0.03
		l := lab{effect: 0.05, sigma: math.Sqrt((deviation*deviation - inBlock*inBlock*drift*drift) / 2), drift: drift}
		if got := Detectable(deviation, blocks); math.Abs(got-0.05) > 1e-9 {
			t.Fatalf("the smallest difference is %g", got)
		}
		const tries = 2000
		found := 0
		for range tries {
			c := Compare(l.blocks(r, 1, blocks))
			if c.Judge(c.P, 0.001) == Higher {
				found++
			}
		}
		if share := float64(found) / tries; share < 0.77 || share > 0.83 {
			t.Errorf("%d blocks found the difference in %.1f %%", blocks, 100*share)
		}
	}
}

// Who does as many more blocks as were said gets a decision, and of a planted
// 5 % the right one.
func TestPromisedBlocksDecide(t *testing.T) {
	for _, c := range []struct {
		effect, deviation float64
		first             int
	}{{0.05, 0.04, 3}, {0.05, 0.04, 5}, {0.05, 0.06, 4}, {0, 0.03, 4}, {0.03, 0.03, 4}} {
		r := random(uint64(c.first))
		l := lab{effect: c.effect, sigma: c.deviation / math.Sqrt2, drift: 0.03}
		open, decided, right, promised := 0, 0, 0, 0
		for range 400 {
			pairs := l.blocks(r, 1, c.first)
			one := Compare(pairs)
			if one.Judge(one.P, 0.02) != Undecided {
				continue
			}
			more := one.More(0.02, Level)
			open++
			promised += more
			all := Compare(append(pairs, l.blocks(r, c.first+1, c.first+more)...))
			switch w := all.Judge(all.P, 0.02); {
			case w == Undecided:
			case w == Lower && c.effect > 0 || w == Equivalent && c.effect > 0.02 || w == Higher && c.effect == 0:
				decided++
			default:
				decided, right = decided+1, right+1
			}
		}
		t.Logf("%+v: of %d open, %d were decided, %d rightly, after %d more on average", c, open, decided, right, promised/max(1, open))
		least := 0.75
		if c.effect == 0 {
			least = 0.65 // half of the futures thought possible end near a margin, and so does this
		}
		if float64(right) < least*float64(open) {
			t.Errorf("%+v: of %d open, %d were decided, %d rightly", c, open, decided, right)
		}
	}
}

// A difference of 10 % is not called equal within 5 %, and none is found so.
func TestEquivalence(t *testing.T) {
	const tries = 2000
	for _, blocks := range []int{3, 6} {
		for _, deviation := range []float64{0.01, 0.03, 0.06} {
			r := random(uint64(blocks))
			wrong, edge, right := 0, 0, 0
			for range tries {
				for _, c := range []struct {
					effect float64
					n      *int
				}{{0.10, &wrong}, {0.05, &edge}, {0, &right}} {
					l := lab{effect: c.effect, sigma: deviation / math.Sqrt2, drift: 0.03}
					one := Compare(l.blocks(r, 1, blocks))
					if one.Judge(one.P, 0.05) == Equivalent {
						*c.n++
					}
				}
			}
			if wrong > tries/20 || edge > tries*6/100 {
				t.Errorf("%d blocks, deviation %g: equal within 5 %% was said of 10 %% in %d, of 5 %% in %d of %d", blocks, deviation, wrong, edge, tries)
			}
			if deviation == 0.01 && right < tries*95/100 {
				t.Errorf("%d blocks: equal arms were called equal only in %d of %d", blocks, right, tries)
			}
		}
	}
}

func TestCompareOfLittle(t *testing.T) {
	for _, pairs := range [][]Paired{nil, {{1, 0, 5}}, {{1, 5, -1}, {2, math.NaN(), 1}, {3, 1, math.Inf(1)}}} {
		c := Compare(pairs)
		if c.Effect.N != 0 || !math.IsNaN(c.Effect.Value) || len(c.Effect.Warnings) == 0 || c.Judge(c.P, 0.05) != Undecided || c.More(0.05, Level) < 1 || !math.IsNaN(c.Smallest()) {
			t.Errorf("%v: %+v", pairs, c)
		}
	}
	c := Compare([]Paired{{1, 11, 10}})
	if math.Abs(c.Effect.Value-0.1) > 1e-12 || !math.IsInf(c.Effect.Low, -1) || !math.IsInf(c.Effect.High, 1) || len(c.Effect.Warnings) == 0 || c.Judge(c.P, 0.5) != Undecided || c.More(0.5, Level) < 1 {
		t.Errorf("one block: %+v", c)
	}
	c = Compare([]Paired{{1, 11, 10}, {2, 0, 10}, {3, 12, 10}})
	if c.Effect.N != 2 || len(c.Effect.Warnings) == 0 {
		t.Errorf("a zero among them: %+v", c)
	}
	c = Compare([]Paired{{1, 10, 10}, {2, 20, 20}})
	if c.P != 1 || c.Judge(c.P, 0.05) != Equivalent || c.More(0.05, Level) != 0 || len(c.Effect.Warnings) == 0 {
		t.Errorf("the same values: %+v", c)
	}
}

// Two pairs of one block are no two blocks.
func TestBlocksAreTheUnit(t *testing.T) {
	once := []Paired{{1, 11, 10}, {2, 12, 10}, {3, 13, 10}}
	c, d := Compare(once), Compare(append(once, once...))
	if c.Effect.N != d.Effect.N || math.Abs(c.P-d.P) > 1e-12 {
		t.Errorf("%+v and %+v", c, d)
	}
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestCompareHoldsTogether(t *testing.T) {
	value := rapid.OneOf(rapid.Float64Range(0.5, 2), rapid.Float64Range(1e-300, 1e300), rapid.SampledFrom([]float64{0, -1, 1, math.Inf(1), math.NaN()}))
	rapid.Check(t, func(t *rapid.T) {
		pairs := make([]Paired, rapid.IntRange(0, 12).Draw(t, "n"))
		for i := range pairs {
			pairs[i] = Paired{rapid.IntRange(1, 8).Draw(t, "block"), value.Draw(t, "a"), value.Draw(t, "b")}
		}
		c := Compare(pairs)
		if c.n > 0 && !(c.Effect.Low <= c.Effect.Value && c.Effect.Value <= c.Effect.High) || c.P < 0 || c.P > 1 || (c.n > 1) == math.IsNaN(c.P) {
			t.Fatalf("%+v", c)
		}
		if w := c.Judge(c.P, 0.05); (w == Undecided) != (c.More(0.05, Level) > 0) && c.deviation != 0 {
			t.Fatalf("%s, and %d more: %+v", w, c.More(0.05, Level), c)
		}
	})
}

func TestCompareSymmetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := make([]Paired, rapid.IntRange(2, 10).Draw(t, "n"))
		for i := range pairs {
			pairs[i] = Paired{i + 1, rapid.Float64Range(50, 200).Draw(t, "a"), rapid.Float64Range(50, 200).Draw(t, "b")}
		}
		c := Compare(pairs)
		mixed := rapid.Permutation(pairs).Draw(t, "order")
		if d := Compare(mixed); d.Effect.Value != c.Effect.Value || d.P != c.P && !(math.IsNaN(d.P) && math.IsNaN(c.P)) {
			t.Fatalf("another order: %+v and %+v", c, d)
		}
		by := rapid.Float64Range(1e-6, 1e6).Draw(t, "scale")
		var scaled, swapped []Paired
		for _, p := range pairs {
			scaled, swapped = append(scaled, Paired{p.Block, p.A * by, p.B * by}), append(swapped, Paired{p.Block, p.B, p.A})
		}
		if d := Compare(scaled); c.deviation > 1e-6 && !(near(d.Effect.Value, c.Effect.Value) && near(d.Effect.Low, c.Effect.Low) && math.Abs(d.P-c.P) < 1e-6) {
			t.Fatalf("scaled by %g: %+v and %+v", by, c, d)
		}
		d := Compare(swapped)
		if c.deviation > 1e-6 && !(near(1+d.Effect.Value, 1/(1+c.Effect.Value)) && near(1+d.Effect.Low, 1/(1+c.Effect.High)) && math.Abs(d.P-c.P) < 1e-6) {
			t.Fatalf("swapped: %+v and %+v", c, d)
		}
		flipped := map[string]string{Higher: Lower, Lower: Higher, Equivalent: Equivalent, Undecided: Undecided}
		if a, b := c.Judge(c.P, 0.05), d.Judge(d.P, 0.05); c.deviation > 1e-6 && math.Abs(c.P-Level) > 1e-6 && flipped[a] != b {
			t.Fatalf("%s, and swapped %s", a, b)
		}
	})
}

func BenchmarkMore(b *testing.B) {
	c := Compare(noisy.blocks(random(1), 1, 4))
	for b.Loop() {
		c.More(0.01, Level)
	}
}
