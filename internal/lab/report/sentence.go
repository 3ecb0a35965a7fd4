package report

import (
	"fmt"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// sentence says a verdict to people.
func (t *table) sentence(v Comparison, c stats.Comparison) string {
	n := named(t.x, v.Pair)
	of := ""
	if !higherIsBetter(t.x.Metric) {
		of = ", " + metricName(t.x.Metric)
	}
	against := n.arm + " against " + n.baseline + n.where + of + ": "
	switch v.Word {
	case Better, Worse:
		return capital(t.different(v, n)) + ": " + v.Word + "."
	case Equivalent:
		interval := units.Interval(v.Effect)
		if beyond(v.Effect, v.Margin) { // two one-sided tests of 5 % are the interval of 90 %
			interval = units.Interval(c.Narrow()) + ", 90 % interval"
		}
		return fmt.Sprintf("%sno difference larger than %s (%s).", against, units.RoundPercent(v.Margin), interval)
	}
	return against + t.undecided(v, c) + "."
}

// different says how far the arms of a comparison are apart.
func (t *table) different(v Comparison, n names) string {
	if higherIsBetter(t.x.Metric) {
		return n.arm + n.where + " does " + howMuch(v.Effect, "less", "more", "as much", n.baseline)
	}
	name := metricName(t.x.Metric)
	return "the " + name + " of " + n.arm + n.where + " is " + howMuch(v.Effect, "shorter", "longer", "as long", "that of "+n.baseline)
}

// howMuch writes a difference that is sure: 38 % less (31 to 44 %) than ext4.
// From three times on a factor is easier to read.
func howMuch(e stats.Estimate, less, more, factor, baseline string) string {
	switch {
	case e.Value >= 2:
		return fmt.Sprintf("%s times %s (%s to %s) as %s", times(e.Value+1), factor, times(e.Low+1), times(e.High+1), baseline)
	case e.Value >= 0:
		return fmt.Sprintf("%s %% %s (%s to %s %%) than %s", units.PercentDigits(e.Value), more, units.PercentDigits(e.Low), units.PercentDigits(e.High), baseline)
	}
	return fmt.Sprintf("%s %% %s (%s to %s %%) than %s", units.PercentDigits(e.Value), less, units.PercentDigits(e.High), units.PercentDigits(e.Low), baseline)
}

func beyond(e stats.Estimate, margin float64) bool {
	return e.Low < 1/(1+margin)-1 || e.High > margin
}

func (t *table) undecided(v Comparison, c stats.Comparison) string {
	for _, arm := range []string{v.Arm, v.Baseline} {
		if t.broken(arm) != "" {
			return "nothing to compare, because " + arm + " could not run"
		}
	}
	text := ""
	switch {
	case v.Effect.N == 0:
		text = "no block has both yet"
	case !Known(v.Effect):
		text = fmt.Sprintf("undecided after one block: %s, and chance cannot be estimated yet", units.Signed(v.Effect.Value))
	default:
		text = fmt.Sprintf("undecided after %s: %s (%s)", units.Count(v.Effect.N, "block"), units.Signed(v.Effect.Value), units.Interval(v.Effect))
		if c.P < stats.Level {
			text += fmt.Sprintf(", which is too likely by chance among %s", units.Count(len(t.x.Pairs), "comparison"))
		}
	}
	switch {
	case v.More >= stats.MostMore:
		text += fmt.Sprintf("; not even %d more blocks would surely decide it", stats.MostMore)
	case v.More > 0 && Known(v.Effect):
		text += fmt.Sprintf("; about %s would decide it", units.Count(v.More, "more block"))
	case v.More > 0:
		text += fmt.Sprintf("; at least %s needed", units.Counted(v.More, "more block", "is", "are"))
	}
	return text
}
