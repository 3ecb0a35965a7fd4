package rehearse

import (
	"path"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/host/paths"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/stats"
)

// concerning leaves out the steps on other servers and on what only they
// stand on: a rehearsal is about one server, and so is the plan of what is kept.
func (d *draft) concerning(steps []advise.Step) []advise.Step {
	own := standsOn(d.stack, d.server)
	var others []*stack.Thing
	for _, kind := range product.Kinds() {
		for _, t := range d.stack.OfKind(kind) {
			if t != d.server {
				others = append(others, t)
			}
		}
	}
	theirs := standsOn(d.stack, others...)
	placed := linked(d.stack, d.server, "data") != nil
	for _, k := range kept {
		_, gap := d.stack.GapFor(d.server.Ref, k.role)
		placed = placed && !gap
	}
	return slices.DeleteFunc(slices.Clone(steps), func(a advise.Step) bool {
		of := a.Knob.Of
		switch {
		case of == d.server.Ref:
			return false
		case product.IsServer(of.Kind):
			return true
		case !slices.Contains(parts, of.Kind) || holds(own, of):
			return false
		}
		return placed || holds(theirs, of) // where nobody knows what a server stands on, it may be that
	})
}

// parts are the kinds of things that one server may stand on and another not.
// The kernel, the machine and the ZFS module are everybody's.
var parts = []string{"filesystem", "dataset", "pool", "block", "process", "cgroup", "memory"}

// standsOn gives all that links lead to from some things: they lead down, from
// a server to its disks, its process and that one's control group.
func standsOn(s *stack.Stack, from ...*stack.Thing) map[stack.Ref]bool {
	seen := map[stack.Ref]bool{}
	for len(from) > 0 {
		t := from[0]
		from = from[1:]
		if seen[t.Ref] {
			continue
		}
		seen[t.Ref] = true
		for name := range t.Links {
			next, _ := s.Follow(t, name)
			from = append(from, next...)
		}
	}
	return seen
}

// holds tells whether a thing is among those that a server stands on, or holds
// one of them as a dataset and a control group hold those below: what is set
// there is in force further down.
func holds(all map[stack.Ref]bool, of stack.Ref) bool {
	if all[of] {
		return true
	}
	if of.Kind != "dataset" && of.Kind != "cgroup" {
		return false
	}
	for r := range all {
		if r.Kind == of.Kind && paths.Within(path.Clean(r.Name), path.Clean(of.Name)) {
			return true
		}
	}
	return false
}

// The notes of a rehearsal's experiments say which rules asked for what an arm
// tries, one line for each arm, so that explain finds the rehearsals of a rule
// in a ledger:
//
//	rules of innodb_buffer_pool_size 6G: mysql/buffer-pool-default
const (
	rulesOf  = "rules of "
	rulesAll = "rules: " // of all advice together
)

// rulesNote is the line of an arm.
func rulesNote(arm string, rules []string) string {
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
