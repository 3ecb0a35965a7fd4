package advise

import (
	"cmp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
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
	return started(st, s.Find(r.Knob.Of))
}

// started says so where a server was started with another value on its command line. That overrides every file, so the new value has
// no effect in one, and neither has a reload.
func started(st Step, server *stack.Thing) Step {
	if server == nil || !product.IsServer(st.Knob.Of.Kind) || st.Effect != catalog.Reload && st.Effect != catalog.Restart {
		return st
	}
	if o := server.Facts[st.Knob.Name].Origin; o != nil && o.From == stack.FromCommand {
		st.Effect = catalog.Restart
		st.Note = strings.TrimSuffix("it is on the server's command line, which overrides every file: change it there; "+st.Note, "; ")
	}
	return st
}

// Also is a further rule that asks for the very same change.
type Also struct {
	Rule  string
	Title string
}

// mergeSameChange joins cases that ask for the very same change: the worse finding
// keeps the case and names the other rules, so that one knob is one finding.
// Findings come ranked. A case with nothing to set is never absorbed.
func mergeSameChange(fs []Finding) []Finding {
	type change struct {
		knob stack.Knob
		to   string
	}
	claimed := map[change]*Case{}
	for i := range fs {
		fs[i].Cases = slices.DeleteFunc(fs[i].Cases, func(c Case) bool {
			var owner *Case
			for _, r := range c.Remedies {
				if !r.IsStep() {
					continue
				}
				o := claimed[change{r.Step.Knob, r.Step.To.String()}]
				if o == nil || owner != nil && owner != o {
					return false
				}
				owner = o
			}
			if owner == nil {
				return false
			}
			owner.Also = append(owner.Also, Also{fs[i].Rule.ID, c.Title})
			return true
		})
		for j := range fs[i].Cases {
			c := &fs[i].Cases[j]
			for _, r := range c.Remedies {
				if k := (change{r.Step.Knob, r.Step.To.String()}); r.IsStep() && claimed[k] == nil {
					claimed[k] = c
				}
			}
		}
	}
	return slices.DeleteFunc(fs, func(f Finding) bool { return len(f.Cases) == 0 })
}

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
