package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plumb/internal/units"
)

// most is how many differences an answer names.
const most = 3

// answer answers the question of an experiment in one or two sentences, from
// the verdicts.
func answer(r Report) string {
	if r.Stopped == NothingRuns || r.Stopped == NothingCounts {
		return fmt.Sprintf("No answer: %s.", r.Stopped)
	}
	var sentences []string
	switch {
	case len(r.Verdicts) == 0:
		sentences = plainly(r)
	case onlyThreads(r):
		sentences = ofCurves(r)
	case len(r.Verdicts) == 1:
		sentences = []string{r.Verdicts[0].Sentence}
	default:
		sentences = ofVerdicts(r)
	}
	if len(sentences) == 0 {
		return fmt.Sprintf("After %d of at most %s there is no result yet.", r.Done, units.Count(r.Experiment.Most, "block"))
	}
	for i, s := range sentences {
		sentences[i] = capital(s)
	}
	if !r.Complete {
		return "So far: " + strings.Join(sentences, " ")
	}
	return strings.Join(sentences, " ")
}

// capital begins a sentence, unless it begins with the name of a setting.
func capital(s string) string {
	for _, word := range []string{"the ", "no ", "undecided", "equal"} {
		if strings.HasPrefix(s, word) {
			return strings.ToUpper(s[:1]) + s[1:]
		}
	}
	return s
}

// plainly tells the values where nothing is compared.
func plainly(r Report) (all []string) {
	for _, a := range r.Arms {
		if a.Metric.N == 0 || len(all) == most {
			continue
		}
		show, before, after := units.Spaced, "the "+metricName(r.Experiment.Metric)+" of "+a.Name+" is ", ""
		if higherIsBetter(r.Experiment.Metric) {
			show, before, after = units.PerSecond, a.Name+" does ", " operations a second"
		}
		interval := ""
		if Known(a.Metric) {
			interval = " (" + show(a.Metric.Low) + " to " + show(a.Metric.High) + ")"
		}
		all = append(all, before+show(a.Metric.Value)+after+interval+".")
	}
	return all
}

// onlyThreads tells whether the comparisons are about the number of threads
// alone: a curve then says more than they do.
func onlyThreads(r Report) bool {
	axis := threadsAxis(r.Experiment)
	if axis == "" || !slices.ContainsFunc(r.Curves, func(c Curve) bool { return c.Capacity != nil }) {
		return false
	}
	for _, v := range r.Verdicts {
		a, b := r.Experiment.Arm(v.Arm), r.Experiment.Arm(v.Baseline)
		if others(r.Experiment, a, axis) != others(r.Experiment, b, axis) {
			return false
		}
	}
	return true
}

func ofCurves(r Report) (all []string) {
	for _, c := range r.Curves {
		k := c.Capacity
		if k == nil || len(all) == most {
			continue
		}
		text := ""
		if len(r.Curves) > 1 {
			text = c.Name + ": "
		}
		all = append(all, fmt.Sprintf("%sat most %s operations a second (%s to %s), best at %s threads: %s.",
			text, units.PerSecond(k.Max.Value), units.PerSecond(k.Max.Low), units.PerSecond(k.Max.High), k.Best.Threads(), k.Best.Why))
	}
	return all
}

// ofVerdicts names the largest differences, then what makes none and what is
// open.
func ofVerdicts(r Report) (all []string) {
	different := pick(r, Better, Worse)
	slices.SortStableFunc(different, func(a, b Comparison) int {
		return -cmp.Compare(math.Abs(math.Log1p(a.Effect.Value)), math.Abs(math.Log1p(b.Effect.Value)))
	})
	rest := len(different) - most
	for _, v := range different[:min(most, len(different))] {
		sentence, _ := strings.CutSuffix(v.Sentence, ": "+v.Word+".")
		all = append(all, sentence)
	}
	if len(all) > 0 {
		text := strings.Join(all, "; ")
		if rest > 0 {
			text += fmt.Sprintf("; and %s smaller", units.Counted(rest, "difference", "that is", "that are"))
		}
		all = []string{text + "."}
	}
	if same := pick(r, Equivalent); len(same) > 0 {
		all = append(all, fmt.Sprintf("no difference larger than %s: %s.", units.RoundPercent(r.Experiment.Margin), listed(r, same)))
	}
	if open := pick(r, Undecided); len(open) > 0 && len(all) > 0 {
		all = append(all, fmt.Sprintf("undecided: %s.", listed(r, open)))
	} else if known := slices.DeleteFunc(open, func(v Comparison) bool { return v.Effect.N < 2 }); len(known) > 0 {
		all = append(all, fmt.Sprintf("undecided in all %s after %s.", units.Count(len(r.Verdicts), "comparison"), units.Count(r.Done, "block")))
	}
	return all
}

func pick(r Report, words ...string) (all []Comparison) {
	for _, v := range r.Verdicts {
		if slices.Contains(words, v.Word) {
			all = append(all, v)
		}
	}
	return all
}

// listed names some comparisons, or says how many there are.
func listed(r Report, all []Comparison) string {
	if len(all) > most {
		return fmt.Sprintf("%d of %s", len(all), units.Count(len(r.Verdicts), "comparison"))
	}
	var names []string
	for _, v := range all {
		n := named(r.Experiment, v.Pair)
		names = append(names, n.arm+" against "+n.baseline+n.where)
	}
	return strings.Join(names, "; ")
}
