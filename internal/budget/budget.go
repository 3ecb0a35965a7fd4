// Package budget adds up where a host's memory goes: one sum for the machine
// and one for every control group with a limit of its own, so that advice
// about caches, connections and the ARC can never add up to more than there
// is.
//
// It is pure: it reads a stack and gives values. It never guesses a setting:
// when a part is not known the total is not known either, and only the sum of
// the known parts is given, as a lower bound.
package budget

import (
	"slices"

	"plumb/internal/stack"
)

// Domain is one place memory is taken from: the host, or a control group
// with a limit.
type Domain struct {
	Ref      stack.Ref // memory:host, memory:/system.slice/mariadb.service
	Limit    int64     // bytes
	Measured int64     // bytes taken now by the servers, the ARC and the rest; 0 when Unmeasured
	Servers  []stack.Ref
	Share    bool // what a spec gives one server as its own, of another domain
	Parts    []Part
	// Unknown names what is missing, as thing and fact; totals are lower
	// bounds when it is not empty.
	Unknown []stack.Knob
	// Unmeasured says why Measured is not known, and is empty when it is.
	Unmeasured string
}

// Part is one use of memory, as ranges in bytes: what it takes at the load
// seen so far, and at the most the settings allow.
type Part struct {
	Of       stack.Ref // who takes it
	Name     string    // "buffer pool"
	Why      string    // how the number was made
	Expected Range
	Worst    Range
}

// Range is an interval in bytes.
type Range struct{ Low, High int64 }

func (r Range) plus(o Range) Range { return Range{r.Low + o.Low, r.High + o.High} }

// mid is the middle of the range.
func (r Range) mid() int64 { return r.Low + (r.High-r.Low)/2 }

func exactly(n int64) Range { return Range{n, n} }

func upTo(n int64) Range { return Range{0, n} }

// totals adds up the parts.
func (d Domain) totals() (expected, worst Range) {
	for _, p := range d.Parts {
		expected = expected.plus(p.Expected)
		worst = worst.plus(p.Worst)
	}
	return expected, worst
}

const source = "memory budget"

// Apply computes the budgets and adds them to the stack as things of kind memory, linked from the servers that draw on
// them. Those that were there before make way, unless the stack does not tell enough to compute any.
func Apply(s *stack.Stack) {
	all := compute(s)
	if all == nil {
		return
	}
	forget(s, isMemory)
	var obs stack.Observation
	for _, d := range all {
		d.observe(&obs)
		for _, ref := range d.Servers {
			linkOnce(s, ref, d.Ref)
		}
	}
	s.Add("budget", obs)
}

// Take gives a stack the budgets of another, of the same servers.
func Take(s, from *stack.Stack) {
	forget(s, isMemory)
	var obs stack.Observation
	for _, t := range from.Clone().Things {
		if isMemory(t.Ref) {
			obs.Things = append(obs.Things, t)
			continue
		}
		for _, ref := range t.Links["memory"] {
			linkOnce(s, t.Ref, ref)
		}
	}
	for _, g := range from.Gaps {
		if isMemory(g.Of) {
			obs.Gaps = append(obs.Gaps, g)
		}
	}
	s.Add("budget", obs)
}

func isMemory(r stack.Ref) bool { return r.Kind == "memory" }

// forget takes budgets off a stack, and the links to them.
func forget(s *stack.Stack, which func(stack.Ref) bool) {
	s.Things = slices.DeleteFunc(slices.Clone(s.Things), func(t *stack.Thing) bool { return which(t.Ref) })
	s.Gaps = slices.DeleteFunc(slices.Clone(s.Gaps), func(g stack.Gap) bool { return which(g.Of) })
	for _, t := range s.Things {
		if slices.ContainsFunc(t.Links["memory"], which) {
			delete(t.Links, "memory")
		}
	}
}

// observe adds a domain as a thing, and what is not known of it.
func (d Domain) observe(obs *stack.Observation) {
	t := obs.New(d.Ref.Kind, d.Ref.Name)
	setFacts(t, d)
	for _, u := range d.Unknown {
		obs.Gap(d.Ref, "needs "+u.String()+", which is not known", "", "expected*", "worst*", "spare*")
	}
	if d.Unmeasured != "" {
		obs.Gap(d.Ref, d.Unmeasured, "", "measured")
	}
}

// linkOnce links a server to the tightest domain: control groups come before
// the host in compute's order.
func linkOnce(s *stack.Stack, server, domain stack.Ref) {
	if t := s.Find(server); t != nil && len(t.Links["memory"]) == 0 {
		t.Link("memory", domain)
	}
}

func setFacts(t *stack.Thing, d Domain) {
	expected, worst := d.totals()
	set := func(name string, n int64) { t.Set(name, stack.Int(n), source) }
	set("limit", d.Limit)
	set("servers", int64(len(d.Servers)))
	set("known", expected.Low)
	if d.Share {
		set("share", d.Limit)
	} else {
		t.SetAbsent("share", source)
	}
	if d.Unmeasured == "" {
		set("measured", d.Measured)
	}
	if len(d.Unknown) > 0 {
		return
	}
	set("expected", expected.mid())
	set("expected_low", expected.Low)
	set("expected_high", expected.High)
	set("worst", worst.mid())
	set("worst_low", worst.Low)
	set("worst_high", worst.High)
	set("spare", d.Limit-expected.High)
}
