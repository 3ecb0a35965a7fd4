package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// remedy is one remedy of a rule, compiled: a knob and its value, or a text.
type remedy struct {
	cond *expression // nil: always
	name string      // variable whose knob is set; "" for a text
	knob *catalog.Fact
	to   *expression
	do   *template
	note *template
}

// remediesFor gives what to do about a rule that fired.
func (r *Rule) remediesFor(b things) []Remedy {
	var out []Remedy
	for _, m := range r.remedies {
		if m.cond != nil {
			if ok, _, err := m.cond.holds(b); ok != Fires || err != nil {
				continue
			}
		}
		if got, ok := m.resolve(b); ok {
			out = append(out, got)
		}
	}
	return out
}

// resolve computes one remedy. Where the value needs a fact that is not known
// the remedy becomes a text that says so; where it needs one that does not
// exist here, the remedy is for others.
func (m *remedy) resolve(b things) (Remedy, bool) {
	if m.knob == nil {
		return Remedy{Do: m.do.render(b), Note: m.note.render(b)}, true
	}
	t := b[m.name]
	if t == nil {
		return Remedy{}, false
	}
	knob := stack.Knob{Of: t.Ref, Name: m.knob.Name}
	v, err := m.to.value(b)
	if err == nil {
		v, err = m.fit(v)
	}
	if errors.Is(err, errAbsent) {
		return Remedy{}, false
	}
	if err != nil {
		return Remedy{Do: m.undecided(b, err), Note: m.note.render(b)}, true
	}
	return Remedy{Knob: knob, To: v, Note: m.note.render(b)}, true
}

func (m *remedy) undecided(b things, err error) string {
	name := m.knob.Name
	if m.knob.Shown != "" {
		name = m.knob.Shown
	}
	if !errors.Is(err, errUnknown) {
		return fmt.Sprintf("change %s; no value can be proposed: %v", name, err)
	}
	var needs []string
	for _, u := range m.to.uses {
		if u.fact != nil && b[u.name] != nil {
			if _, known := b[u.name].Facts[u.fact.Name]; !known {
				needs = append(needs, u.fact.Name)
			}
		}
	}
	return fmt.Sprintf("change %s; the value depends on %s, which is not known here", name, strings.Join(needs, " and "))
}

// fit turns a computed value into one of the knob's type and checks that the
// knob takes it.
func (m *remedy) fit(v stack.Value) (stack.Value, error) {
	if n, ok := v.Int(); ok && m.knob.Type.Fits(stack.Float(0)) {
		v = stack.Float(float64(n))
	}
	if !m.knob.Type.Fits(v) {
		return v, fmt.Errorf("%s takes %s, not %s", m.knob.Name, m.knob.Type, v)
	}
	return v, allowed(m.knob, v)
}

// allowed checks a value against what the catalogue says a knob takes.
func allowed(f *catalog.Fact, v stack.Value) error {
	k := f.Knob
	if text, ok := v.Text(); ok && len(k.Values) > 0 {
		if !slices.ContainsFunc(k.Values, func(a string) bool { return strings.EqualFold(a, text) }) {
			return fmt.Errorf("%s takes %s, not %q", f.Name, strings.Join(k.Values, ", "), text)
		}
	}
	n, isNumber := v.Number()
	if isNumber && k.Min != nil && n < *k.Min {
		return fmt.Errorf("%s takes %s at least, not %s", f.Name, bound(f, *k.Min), catalog.Show(f, v))
	}
	if isNumber && k.Max != nil && n > *k.Max {
		return fmt.Errorf("%s takes %s at most, not %s", f.Name, bound(f, *k.Max), catalog.Show(f, v))
	}
	return nil
}

func bound(f *catalog.Fact, n float64) string {
	if f.Type.Fits(stack.Int(0)) {
		return catalog.Show(f, stack.Int(int64(n)))
	}
	return catalog.Show(f, stack.Float(n))
}
