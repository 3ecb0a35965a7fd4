package report

import (
	"math"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// higherIsBetter tells which way a metric points: a rate up, a time down.
func higherIsBetter(metric string) bool { return metric == "rate" || metric == "" }

// judged gives the chances of the comparisons, corrected for their number, and
// what each shows.
func (t *table) judged(compared []stats.Comparison) (corrected []float64, words []string) {
	chances := make([]float64, len(compared))
	for i, c := range compared {
		chances[i] = c.P
	}
	corrected = stats.Holm(chances)
	for i, c := range compared {
		words = append(words, word(c.Judge(corrected[i], t.x.Margin), t.x.Metric))
	}
	return corrected, words
}

// verdicts judges the comparisons. Their chances are corrected for their
// number; their intervals hold each for itself.
func (t *table) verdicts(compared []stats.Comparison) []Comparison {
	corrected, words := t.judged(compared)
	all := make([]Comparison, len(compared))
	for i, c := range compared {
		v := Comparison{Pair: t.x.Pairs[i], Word: words[i], Effect: c.Effect, P: corrected[i], Margin: t.x.Margin, Smallest: c.Smallest()}
		if len(compared) > 1 && v.Effect.N > 1 {
			v.Effect.Warnings = append(v.Effect.Warnings, "the interval holds for this comparison alone; P is corrected for their number")
		}
		if v.Word == Undecided && t.canTell(v.Pair) {
			v.More = c.More(v.Margin, level(c.P, v.P))
		}
		v.Sentence = t.sentence(v, c)
		all[i] = v
	}
	return all
}

// canTell tells whether more blocks would bring more of a comparison.
func (t *table) canTell(p experiment.Pair) bool {
	return t.runs(p.Arm, math.MaxInt) && t.runs(p.Baseline, math.MaxInt)
}

// level is what an uncorrected chance must be below where the corrected one
// must be below the usual level.
func level(p, corrected float64) float64 {
	if !(corrected > 0) || math.IsNaN(p) {
		return stats.Level
	}
	return stats.Level * max(p/corrected, 0.001)
}

// word says what a comparison shows of values that should be high, or low.
func word(shown, metric string) string {
	switch shown {
	case stats.Equivalent:
		return Equivalent
	case stats.Higher, stats.Lower:
		if (shown == stats.Higher) == higherIsBetter(metric) {
			return Better
		}
		return Worse
	}
	return Undecided
}
