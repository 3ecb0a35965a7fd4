package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// doubts makes findings of settings that are not safe everywhere, where no rule
// could say whether they are safe here: what a server's directory lies on could
// not be found. One setting is one case, of the worst of the rules that wait.
// Where a rule about lost data has fired for the setting all is said.
func doubts(verdicts []rule.Evaluation, fs []Finding, cat *catalog.Catalog) []Finding {
	said := map[stack.Knob]bool{}
	for _, v := range verdicts {
		for _, e := range v.Evidence {
			said[stack.Knob{Of: e.Of, Name: e.Name}] = said[stack.Knob{Of: e.Of, Name: e.Name}] || v.Rule.Harm == rule.Danger
		}
	}
	for _, v := range worstFirst(verdicts) {
		for _, d := range v.Doubts {
			knob := stack.Knob{Of: d.Of, Name: d.Name}
			if said[knob] {
				continue
			}
			said[knob] = true
			i := slices.IndexFunc(fs, func(f Finding) bool { return f.Rule.ID == v.Rule.ID })
			if i < 0 {
				fs = append(fs, Finding{Rule: v.Rule})
				i = len(fs) - 1
			}
			fs[i].Cases = append(fs[i].Cases, doubtful(v, d, cat))
			slices.SortFunc(fs[i].Cases, compareCases)
		}
	}
	return fs
}

// worstFirst orders verdicts by what their rules have to say.
func worstFirst(verdicts []rule.Evaluation) []rule.Evaluation {
	return slices.SortedStableFunc(slices.Values(verdicts), func(a, b rule.Evaluation) int {
		return cmp.Or(cmp.Compare(gainRank(a.Rule.Gain), gainRank(b.Rule.Gain)), cmp.Compare(a.Rule.ID, b.Rule.ID),
			slices.CompareFunc(a.Things, b.Things, stack.Ref.Compare))
	})
}

func doubtful(v rule.Evaluation, d rule.Doubt, cat *catalog.Catalog) Case {
	f := cat.Fact(d.Of.Kind, d.Name)
	name := shownName(f, d.Name)
	c := Case{Things: v.Things, Evidence: []rule.Evidence{d.Evidence},
		Title: fmt.Sprintf("%s is %s, and whether that is safe here is not known", name, catalog.Show(f, d.Fact.Value))}
	var why []string
	for _, m := range v.Missing {
		c.Missing = append(c.Missing, stack.Knob{Of: m.Of, Name: m.Name}.String())
		why = append(why, fmt.Sprintf("%s of %s: %s", m.Name, m.Of, cmp.Or(m.Why, notRead)))
		if m.Hint != "" {
			c.Remedies = append(c.Remedies, Remedy{Do: "let it be judged: " + m.Hint})
		}
	}
	c.Say = sentence(d.Class) + " What would tell is not known: " + strings.Join(why, "; ") + "."
	for _, r := range d.Remedy {
		if r.Do == "" && class(f, r.To) == catalog.Safe {
			c.Remedies = append(c.Remedies, Remedy{Do: fmt.Sprintf("or set %s to %s, which is safe anywhere", name, catalog.Show(f, r.To))})
		}
	}
	return c
}

func shownName(f *catalog.Fact, name string) string {
	if f != nil && f.Shown != "" {
		return f.Shown
	}
	return name
}

// sentence says a durability class to people.
func sentence(class string) string {
	when, conditional := strings.CutPrefix(class, catalog.Conditional)
	switch {
	case !conditional:
		return "That may corrupt data."
	case strings.HasPrefix(when, "only "):
		return "That is safe " + when + "."
	}
	return "That is safe on a condition: " + when + "."
}
