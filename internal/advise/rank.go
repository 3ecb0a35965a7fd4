package advise

import (
	"cmp"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/rule"
)

// rank sorts findings by harm, then gain, then ease.
func rank(fs []Finding) {
	slices.SortFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(harmRank(a.Rule.Harm), harmRank(b.Rule.Harm)),
			cmp.Compare(gainRank(a.Rule.Gain), gainRank(b.Rule.Gain)),
			cmp.Compare(effort(a), effort(b)),
			cmp.Compare(a.Rule.ID, b.Rule.ID))
	})
}

func number(fs []Finding) {
	for i := range fs {
		fs[i].Number = i + 1
	}
}

// Harms lists the harms, worst first.
func Harms() []rule.Harm { return []rule.Harm{rule.Danger, rule.Outage, rule.Slow, rule.Note} }

func harmRank(h rule.Harm) int { return slices.Index(Harms(), h) }

func gainRank(g rule.Gain) int { return slices.Index([]rule.Gain{rule.High, rule.Medium, rule.Low}, g) }

// effort is how hard the first remedy of a finding is to carry out: the later
// in the list of effects, the harder. What is no knob is hardest.
func effort(f Finding) int {
	effects := []catalog.Effect{catalog.Now, catalog.Reload, catalog.NewWrites, catalog.Remount, catalog.Restart, catalog.Recreate}
	for _, r := range f.Cases[0].Remedies {
		if i := slices.Index(effects, r.Step.Effect); r.IsStep() && i >= 0 {
			return i
		}
	}
	return len(effects)
}

// AtLeast reports whether harm h is as bad as limit or worse.
func AtLeast(h, limit rule.Harm) bool { return harmRank(h) <= harmRank(limit) }
