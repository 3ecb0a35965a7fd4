package advise

import (
	"cmp"
	"slices"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

// notRead is said of a fact that is neither known nor in a gap.
const notRead = "not read on this host"

// unknowns groups what could not be judged by the reason for which facts are
// missing. The reason that holds up most rules comes first.
func unknowns(verdicts []rule.Evaluation) []Unknown {
	type key struct{ why, hint string }
	found := map[key]*Unknown{}
	add := func(k key, id string, needs ...string) {
		u := found[k]
		if u == nil {
			u = &Unknown{Why: k.why, Hint: k.hint}
			found[k] = u
		}
		u.Needs = append(u.Needs, needs...)
		u.Rules = append(u.Rules, id)
	}
	for _, v := range verdicts {
		if v.Outcome != rule.Unknown {
			continue
		}
		if v.Err != nil {
			add(key{why: v.Err.Error()}, v.Rule.ID)
		}
		for _, m := range v.Missing {
			add(key{cmp.Or(m.Why, notRead), m.Hint}, v.Rule.ID, stack.Knob{Of: m.Of, Name: m.Name}.String())
		}
	}
	var out []Unknown
	for _, u := range found {
		slices.Sort(u.Needs)
		slices.Sort(u.Rules)
		u.Needs, u.Rules = slices.Compact(u.Needs), slices.Compact(u.Rules)
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(len(b.Rules), len(a.Rules)), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Hint, b.Hint))
	})
	return out
}
