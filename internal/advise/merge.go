package advise

import (
	"slices"

	"plumb/internal/stack"
)

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
