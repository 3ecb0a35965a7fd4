package advise

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// candidate is one value that one or more cases want for a knob, with the best
// arguments any of them has.
type candidate struct {
	to     stack.Value
	harm   int      // 0 is the worst harm it cures
	danger int      // of its durability class
	things int      // most things a rule that wants it looks at
	change float64  // how far it is from the value in force
	rules  []string // who wants it, sorted
	steps  []*Remedy
}

// resolveConflicts leaves one value for each knob. The other remedies are withheld with
// the reason, and listed as conflicts, sorted by knob.
func resolveConflicts(fs []Finding) []Conflict {
	bids := map[stack.Knob][]*candidate{}
	eachStep(fs, func(f *Finding, c *Case, r *Remedy) { bids[r.Step.Knob] = place(bids[r.Step.Knob], f, c, r) })
	var out []Conflict
	for knob, list := range bids {
		if len(list) < 2 {
			continue
		}
		slices.SortFunc(list, func(a, b *candidate) int { n, _ := weigh(a, b); return n })
		for _, lost := range list[1:] {
			_, why := weigh(list[0], lost)
			out = append(out, Conflict{Knob: knob, Kept: list[0].to, For: list[0].rules,
				Lost: lost.to, Against: lost.rules, Reason: why})
			for _, r := range lost.steps {
				r.Withheld = "in conflict with " + strings.Join(list[0].rules, ", ") + ": " + why
			}
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(a.Knob.Of.Compare(b.Knob.Of), cmp.Compare(a.Knob.Name, b.Knob.Name), cmp.Compare(a.Lost.String(), b.Lost.String()))
	})
	return out
}

func place(list []*candidate, f *Finding, c *Case, r *Remedy) []*candidate {
	i := slices.IndexFunc(list, func(b *candidate) bool { return b.to.Equal(r.Step.To) })
	if i < 0 {
		i = len(list)
		list = append(list, &candidate{to: r.Step.To, harm: math.MaxInt, danger: catalog.Danger(r.Step.DurabilityTo), change: distance(r.Step.From, r.Step.To)})
	}
	b := list[i]
	b.harm = min(b.harm, harmRank(f.Rule.Harm))
	b.things = max(b.things, len(c.Things))
	b.steps = append(b.steps, r)
	if !slices.Contains(b.rules, f.Rule.ID) {
		b.rules = append(b.rules, f.Rule.ID)
		slices.Sort(b.rules)
	}
	return list
}

// weigh orders two bids, the one to keep first, and says why.
func weigh(a, b *candidate) (order int, why string) {
	if n := cmp.Compare(a.danger, b.danger); n != 0 {
		return n, "the more durable value is kept"
	}
	if n := cmp.Compare(a.harm, b.harm); n != 0 && min(a.harm, b.harm) <= harmRank(rule.Outage) {
		return n, "lost data or lost service weighs more than speed"
	}
	if n := cmp.Compare(b.things, a.things); n != 0 {
		return n, "the rule that looks at more parts of this host knows more about it"
	}
	if n := cmp.Compare(a.harm, b.harm); n != 0 {
		return n, "the greater harm is cured"
	}
	if n := cmp.Compare(a.change, b.change); n != 0 {
		return n, "the smaller change is kept"
	}
	return cmp.Or(slices.Compare(a.rules, b.rules), cmp.Compare(a.to.String(), b.to.String())),
		"there is no reason to prefer one: measure before choosing"
}

// distance is how far two numbers are apart, as a factor; texts are all
// equally far.
func distance(from, to stack.Value) float64 {
	a, okA := from.Number()
	b, okB := to.Number()
	if !okA || !okB {
		return math.Inf(1)
	}
	return math.Abs(math.Log((math.Abs(a) + 1) / (math.Abs(b) + 1)))
}

// dropInForce takes away the steps to values that are in force already. They
// are kept until here because a rule that needs the value to stay as it is
// has a say in what another rule wants to change.
func dropInForce(fs []Finding) {
	for i := range fs {
		for j := range fs[i].Cases {
			c := &fs[i].Cases[j]
			c.Remedies = slices.DeleteFunc(c.Remedies, func(r Remedy) bool {
				return r.IsStep() && !r.Step.From.IsAbsent() && r.Step.From.Equal(r.Step.To)
			})
		}
	}
}
