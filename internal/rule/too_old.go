package rule

import (
	"plumb/internal/product"
	"plumb/internal/stack"
)

// tooOld lists the servers that are older than what Plumb knows and that the
// rule does not speak of: what a later version does need not hold for them.
func (r *Rule) tooOld(bound things) []Missing {
	var out []Missing
	for _, b := range r.For {
		t := bound[b.Var]
		if t == nil || r.cat == nil {
			continue
		}
		s := r.cat.Standing(t)
		if !s.Older || r.speaksOf(ServerProduct(t), t.Text("version")) {
			continue
		}
		out = append(out, Missing{Of: t.Ref, Name: "version", Why: s.Say(t.Text("version"))})
	}
	return out
}

// speaksOf reports whether one of the rule's claims is about a version. A rule
// that names no versions speaks of every release.
func (r *Rule) speaksOf(product, version string) bool {
	for _, c := range r.Claims() {
		if c.Product == product && c.Has(version) {
			return true
		}
	}
	return false
}

// ServerProduct is the product that a server is, as claims name it; "" when it
// does not tell.
func ServerProduct(t *stack.Thing) string {
	return product.Of(t.Ref.Kind).Claim(t.Text("flavor"))
}
