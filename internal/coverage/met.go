// Package coverage says on which real servers, filesystems and kernels a rule was
// judged to an answer. A rule speaks of versions; one that was never tested on
// any of them is a guess, however good its sources are.
//
// A meeting is an evaluation on a real host in which the rule fires, or does not
// although all it asks for exists there, over products that are in the rule's
// claims. What meetings there were is in knowledge/coverage.yaml, which a program writes: those
// with captured hosts are found again from their tapes whenever it is checked,
// those with live hosts are kept as long as the rule's condition is the same.
package coverage

import (
	"cmp"
	"maps"
	"slices"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Host is a real host that rules are judged on.
type Host struct {
	Name  string       // of its tape in fixtures/, or of the test that read it
	Day   string       // on which it was read live, 2026-11-21; "" for a tape
	Stack *stack.Stack // what was seen of it
}

// Meeting is one answer of a rule on a real host.
type Meeting struct {
	On   []Product    // what the rule was judged on, sorted; empty when it is about no product
	Says rule.Outcome // fires or quiet
	Host string       // of several with the same answer the first by name
	Day  string       // as in Host
}

// compare orders meetings: by products, what fires first, tapes first.
func (m Meeting) compare(o Meeting) int {
	return cmp.Or(slices.CompareFunc(m.On, o.On, Product.compare), cmp.Compare(m.Says, o.Says), cmp.Compare(m.Day, o.Day), cmp.Compare(m.Host, o.Host))
}

// like reports whether two meetings say the same of the same products.
func (m Meeting) like(o Meeting) bool { return m.Says == o.Says && slices.Equal(m.On, o.On) }

// Record is what is known of one rule's meetings.
type Record struct {
	Condition string // of the rule, when it was judged; see [rule.Rule.Condition]
	Met       []Meeting
}

// Records has the record of every rule that was tested, by id.
type Records map[string]Record

// Make judges real hosts by all rules. Of what was recorded before, it keeps
// the meetings with live hosts of rules that still ask the same; lost names
// the rules of which it had to give some up.
func Make(base *rule.Base, hosts []Host, before Records) (records Records, lost []string) {
	all := map[string][]Meeting{}
	for _, h := range hosts {
		for id, m := range meetings(base, h) {
			all[id] = append(all[id], m...)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		kept := before[id].live()
		r := base.Rule(id)
		if len(kept) > 0 && (r == nil || r.Condition() != before[id].Condition) {
			lost = append(lost, id)
			continue
		}
		if r != nil {
			all[id] = append(all[id], slices.DeleteFunc(kept, func(m Meeting) bool { return !fits(r, m.On) })...)
		}
	}
	records = Records{}
	for id, list := range all {
		slices.SortFunc(list, Meeting.compare)
		if list = slices.CompactFunc(list, Meeting.like); len(list) > 0 {
			records[id] = Record{Condition: base.Rule(id).Condition(), Met: list}
		}
	}
	return records, lost
}

func (r Record) live() []Meeting {
	return slices.DeleteFunc(slices.Clone(r.Met), func(m Meeting) bool { return m.Day == "" })
}

// meetings judges one host.
func meetings(base *rule.Base, h Host) map[string][]Meeting {
	out := map[string][]Meeting{}
	for _, v := range base.Answers(h.Stack) {
		on, known := productsOf(h.Stack, v)
		if known && fits(v.Rule, on) {
			out[v.Rule.ID] = append(out[v.Rule.ID], Meeting{On: on, Says: v.Outcome, Host: h.Name, Day: h.Day})
		}
	}
	return out
}

// fits reports whether products are in a rule's claims: of every part of a
// host that the claims speak of, one product must be in one of them.
func fits(r *rule.Rule, on []Product) bool {
	met := map[rule.Part]bool{}
	claims := r.Claims()
	for _, c := range claims {
		met[c.Part()] = met[c.Part()] || slices.ContainsFunc(on, func(p Product) bool { return p.Name == c.Product && c.Has(p.Version) })
	}
	return !slices.ContainsFunc(claims, func(c rule.Claim) bool { return !met[c.Part()] })
}
