package advise

import (
	"fmt"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// class gives the durability class of a knob's value; safe for what the
// catalogue does not know.
func class(f *catalog.Fact, v stack.Value) string {
	if f == nil {
		return catalog.Safe
	}
	return f.Durability(v)
}

// withholdUnsafe takes steps to a less durable value out of the plan. A value
// that nobody could read counts as safe.
func withholdUnsafe(fs []Finding) {
	eachStep(fs, func(_ *Finding, _ *Case, r *Remedy) {
		if catalog.Danger(r.Step.DurabilityTo) > catalog.Danger(r.Step.DurabilityFrom) {
			r.Withheld = fmt.Sprintf("less durable than what is in force (%s): needs --allow-unsafe", r.Step.DurabilityTo)
		}
	})
}

// eachStep visits every remedy that sets a knob and is not withheld.
func eachStep(fs []Finding, visit func(*Finding, *Case, *Remedy)) {
	for i := range fs {
		for j := range fs[i].Cases {
			c := &fs[i].Cases[j]
			for k := range c.Remedies {
				if r := &c.Remedies[k]; r.IsStep() && r.Withheld == "" {
					visit(&fs[i], c, r)
				}
			}
		}
	}
}
