package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}}, // as R's p.adjust(…, "holm")
		{[]float64{0.3}, []float64{0.3}},
		{[]float64{0.9, 0.8}, []float64{1, 1}},
		{[]float64{0.02, math.NaN(), 0.03}, []float64{0.04, math.NaN(), 0.04}},
		{nil, nil},
	} {
		got := Holm(c.p)
		for i := range c.want {
			if !near(got[i], c.want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(c.want[i])) {
				t.Errorf("%v gives %v, want %v", c.p, got, c.want)
			}
		}
	}
}

func TestHolmHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.OneOf(rapid.Float64Range(0, 1), rapid.Just(math.NaN()))).Draw(t, "p")
		kept := slices.Clone(p)
		q := Holm(p)
		for i := range p {
			if math.IsNaN(p[i]) != math.IsNaN(q[i]) || q[i] < p[i] || q[i] > 1 || math.Float64bits(kept[i]) != math.Float64bits(p[i]) {
				t.Fatalf("%v gives %v", kept, q)
			}
			for j := range p {
				if p[i] < p[j] && q[i] > q[j] {
					t.Fatalf("the order of %v is not that of %v", q, p)
				}
			}
		}
	})
}

// Of several comparisons of equal arms any is called different as seldom as of one.
func TestHolmOfManyComparisons(t *testing.T) {
	r := random(4)
	const tries, arms = 1500, 6
	some, uncorrected := 0, 0
	for range tries {
		p := make([]float64, arms)
		for i := range p {
			p[i] = Compare(noisy.blocks(r, 1, 5)).P
		}
		if slices.Min(Holm(p)) < Level {
			some++
		}
		if slices.Min(p) < Level {
			uncorrected++
		}
	}
	if some > tries*65/1000 || uncorrected < tries/5 {
		t.Errorf("of %d experiments %d had a difference, %d without correction", tries, some, uncorrected)
	}
}
