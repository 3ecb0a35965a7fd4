package coverage

import (
	"maps"
	"slices"

	"plumb/internal/rule"
)

// Standing is how a rule stands: on what it was tested, or on what it would have to be.
type Standing struct {
	Met []Meeting
	// Wants lists, for a rule that was tested on nothing, the claims of which no
	// product was ever seen, grouped by the part of a host; one of each group
	// would do. It is empty when all products were there, and the rest of what
	// the rule asks about was not: a replica, a cloud's disk, a fault.
	Wants [][]rule.Claim
}

// Untested reports whether a rule was tested on none of the versions it speaks of.
func (s Standing) Untested() bool { return len(s.Met) == 0 }

// Of says how a rule stands. It looks at all records to tell which products
// were seen by any rule.
func (r Records) Of(one *rule.Rule) Standing { return r.Standings([]*rule.Rule{one})[0] }

// Standings says how each rule stands, in the order of the rules.
func (r Records) Standings(rules []*rule.Rule) []Standing {
	seen := r.seen()
	out := make([]Standing, len(rules))
	for i, one := range rules {
		if out[i].Met = r[one.ID].Met; len(out[i].Met) == 0 {
			out[i].Wants = wants(one, seen)
		}
	}
	return out
}

// seen lists every product that any rule was tested on.
func (r Records) seen() []Product {
	all := map[Product]bool{}
	for _, record := range r {
		for _, m := range record.Met {
			for _, p := range m.On {
				all[p] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), Product.compare)
}

// wants groups a rule's claims by part, and leaves out the parts of which
// something was seen.
func wants(r *rule.Rule, seen []Product) [][]rule.Claim {
	var parts []rule.Part
	of := map[rule.Part][]rule.Claim{}
	there := map[rule.Part]bool{}
	for _, c := range r.Claims() {
		part := c.Part()
		if len(of[part]) == 0 {
			parts = append(parts, part)
		}
		of[part] = append(of[part], c)
		there[part] = there[part] || slices.ContainsFunc(seen, func(p Product) bool { return p.Name == c.Product && c.Has(p.Version) })
	}
	var out [][]rule.Claim
	for _, part := range parts {
		if !there[part] {
			out = append(out, of[part])
		}
	}
	return out
}
