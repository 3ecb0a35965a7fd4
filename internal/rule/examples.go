package rule

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/strictyaml"
)

// outcomes checks that there is an example of each outcome.
func (d *reader) outcomes(root *strictyaml.Node) {
	for _, want := range []Outcome{Fires, Quiet, Unknown} {
		if len(d.rule.Examples) > 0 && !slices.ContainsFunc(d.rule.Examples, func(x Example) bool { return x.Want == want }) {
			d.doc.Errorf(root, "no example wants %s: there must be one at least of fires, quiet and unknown", want)
		}
	}
}

// tryExamples judges every example and notes those that come out otherwise.
func (d *reader) tryExamples() []TestedExample {
	var out []TestedExample
	for _, x := range d.rule.Examples {
		v := d.rule.Try(x)
		out = append(out, TestedExample{x.Name, x.Want, v.Outcome, x.line})
		switch {
		case v.Err != nil:
			d.doc.At(x.line, x.col, "example %s: %v", x.Name, v.Err)
		case v.Outcome != x.Want:
			d.doc.At(x.line, x.col, "example %s: want %s, got %s, with %s", x.Name, x.Want, v.Outcome, d.rule.inputs(x.things))
		}
		d.tryRemedies(x, v)
	}
	return out
}

// tryRemedies computes the values of all remedies of an example that fires.
func (d *reader) tryRemedies(x Example, v Evaluation) {
	if v.Outcome != Fires {
		return
	}
	for _, m := range d.rule.remedies {
		if m.knob == nil {
			continue
		}
		if m.cond != nil {
			if holds, _, err := m.cond.holds(x.things); holds != Fires || err != nil {
				continue
			}
		}
		to, err := m.to.value(x.things)
		if err != nil {
			continue
		}
		if _, err := m.fit(to); err != nil {
			d.doc.At(x.line, x.col, "example %s: remedy: %v", x.Name, err)
		}
	}
}

// inputs writes the facts a condition names, as they are.
func (r *Rule) inputs(b things) string { return r.named(b, func(use) bool { return true }) }

// named writes those facts that a condition names and that are wanted.
func (r *Rule) named(b things, wanted func(use) bool) string {
	var parts []string
	for _, u := range r.when.uses {
		if u.fact == nil || b[u.name] == nil || !wanted(u) {
			continue
		}
		text := u.name + "." + u.fact.Name + " "
		f, known := b[u.name].Facts[u.fact.Name]
		switch {
		case !known:
			text += "unknown"
		case f.Value.IsAbsent():
			text += "absent"
		default:
			text += fmt.Sprintf("= %s", catalog.Show(u.fact, f.Value))
		}
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}
