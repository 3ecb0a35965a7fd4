package advise

import (
	"cmp"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// group makes one finding of each rule that fired, with a case for each place.
func group(verdicts []rule.Evaluation, s *stack.Stack, cat *catalog.Catalog) []Finding {
	byRule := map[string]*Finding{}
	for _, v := range verdicts {
		if v.Outcome != rule.Fires {
			continue
		}
		f := byRule[v.Rule.ID]
		if f == nil {
			f = &Finding{Rule: v.Rule}
			byRule[v.Rule.ID] = f
		}
		f.Cases = append(f.Cases, caseOf(v, s, cat))
	}
	var out []Finding
	for _, f := range byRule {
		slices.SortFunc(f.Cases, compareCases)
		out = append(out, *f)
	}
	return out
}

func compareCases(a, b Case) int {
	return cmp.Or(slices.CompareFunc(a.Things, b.Things, stack.Ref.Compare),
		cmp.Compare(a.Title, b.Title), cmp.Compare(a.Say, b.Say))
}

func caseOf(v rule.Evaluation, s *stack.Stack, cat *catalog.Catalog) Case {
	c := Case{Things: v.Things, Title: v.Title, Say: v.Say, Evidence: v.Evidence}
	for _, r := range v.Remedies {
		if r.Do != "" {
			c.Remedies = append(c.Remedies, Remedy{Do: r.Do})
			continue
		}
		c.Remedies = append(c.Remedies, Remedy{Step: step(v, r, s, cat)})
	}
	return c
}

func step(v rule.Evaluation, r rule.Remedy, s *stack.Stack, cat *catalog.Catalog) Step {
	st := Step{Knob: r.Knob, To: r.To, Because: v.Title, Why: []string{v.Rule.ID}, Note: r.Note}
	if t := s.Find(r.Knob.Of); t != nil {
		st.From, _ = t.Get(r.Knob.Name)
	}
	f := cat.Fact(r.Knob.Of.Kind, r.Knob.Name)
	st.DurabilityFrom, st.DurabilityTo = class(f, st.From), class(f, st.To)
	if f != nil && f.Knob != nil {
		st.Effect = f.EffectOn(s.Find(r.Knob.Of))
	}
	return st
}
