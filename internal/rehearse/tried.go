package rehearse

import (
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
)

// The notes of a rehearsal's experiments say which rules asked for what an arm
// tries, one line for each arm, so that explain finds the rehearsals of a rule
// in a ledger:
//
//	rules of innodb_buffer_pool_size 6G: mysql/buffer-pool-default
const (
	rulesOf  = "rules of "
	rulesAll = "rules: " // of all advice together
)

// RulesNote is the line of an arm.
func RulesNote(arm string, rules []string) string {
	return rulesOf + arm + ": " + strings.Join(rules, ", ")
}

// Tried gives the arms of an experiment that try what a rule asks for. An
// experiment that is no rehearsal has none.
func Tried(x experiment.Experiment, rule string) (arms []string) {
	for line := range strings.Lines(x.Notes) {
		arm, ids := AllAdvice, ""
		line = strings.TrimSpace(line)
		if list, ok := strings.CutPrefix(line, rulesAll); ok {
			ids = list
		} else if rest, ok := strings.CutPrefix(line, rulesOf); ok {
			at := strings.LastIndex(rest, ": ") // ids have no colon, arms may
			if at < 0 {
				continue
			}
			arm, ids = rest[:at], rest[at+2:]
		} else {
			continue
		}
		names := func(a experiment.Arm) bool { return a.Name == arm }
		if slices.Contains(strings.Split(ids, ", "), rule) && slices.ContainsFunc(x.Arms, names) && !slices.Contains(arms, arm) {
			arms = append(arms, arm)
		}
	}
	return arms
}

// Brought gives what an arm of Tried brought to the rate, and the word of a
// report for it; ok is false when the experiment does not compare it.
func Brought(r report.Report, arm string) (effect stats.Estimate, word string, ok bool) {
	k := compared(r, arm)
	if k < 0 {
		return stats.Estimate{}, "", false
	}
	return r.Verdicts[k].Effect, r.Verdicts[k].Word, true
}

// compared finds the verdict of a report that shows what an arm brings; -1 when
// there is none. Where all advice is compared with all but one step, the step's
// arm is the baseline.
func compared(r report.Report, arm string) int {
	return slices.IndexFunc(r.Verdicts, func(v report.Comparison) bool {
		return v.Arm == arm && v.Baseline == AsIs || v.Arm == AllAdvice && v.Baseline == arm && arm != AsIs
	})
}
