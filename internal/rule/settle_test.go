package rule_test

import (
	"slices"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
)

// settlesLater has the rules whose next answer depends on facts that an
// example cannot move along with the knob, and which.
var settlesLater = map[string]string{
	"cross/mysql-pool-can-grow": "memory.spare shrinks as the pool grows",
	"cross/zfs-quota-near":      "the room left grows with the quota",
	"mysql/buffer-pool-default": "memory.spare shrinks as the pool grows",
}

// TestEmbeddedRemediesSettle applies the remedies of each example that fires,
// and asks again. The rule may still fire where the remedy shows in a measured
// fact only once it has worked; but it may not ask for yet another value, or
// repeated checks would chase each other.
func TestEmbeddedRemediesSettle(t *testing.T) {
	for _, r := range changeable(t).Rules() {
		for _, x := range r.Examples {
			before := r.Try(x)
			if settlesLater[r.ID] != "" || !setAll(x, before.Remedies) {
				continue
			}
			for _, again := range r.Try(x).Remedies {
				if again.Do == "" && !slices.ContainsFunc(before.Remedies, func(m rule.Remedy) bool {
					return m.Knob == again.Knob && m.To.Equal(again.To)
				}) {
					t.Errorf("%s (%s): after setting %v it asks for %s = %s; make the value final, or say in settlesLater which fact moves", r.ID, x.Name, before.Remedies, again.Knob, again.To)
				}
			}
		}
	}
}

// setAll applies remedies to an example's things; it reports whether there
// was one to apply.
func setAll(x rule.Example, remedies []rule.Remedy) bool {
	applied := false
	for _, m := range remedies {
		for _, thing := range x.Things() {
			if m.Do == "" && thing.Ref == m.Knob.Of {
				thing.Set(m.Knob.Name, m.To, "remedy")
				applied = true
			}
		}
	}
	return applied
}

// TestEmbeddedRemediesAreNotLessDurable: Plumb proposes nothing that can lose
// more than what is in force.
func TestEmbeddedRemediesAreNotLessDurable(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, r := range embedded(t).Rules() {
		for _, x := range r.Examples {
			for _, m := range r.Try(x).Remedies {
				for _, thing := range x.Things() {
					if m.Do != "" || thing.Ref != m.Knob.Of {
						continue
					}
					from, _ := thing.Get(m.Knob.Name)
					if f := cat.Fact(m.Knob.Of.Kind, m.Knob.Name); f.LessDurable(from, m.To) {
						t.Errorf("%s (%s): %s = %s is less durable than %s", r.ID, x.Name, m.Knob, m.To, from)
					}
				}
			}
		}
	}
}
