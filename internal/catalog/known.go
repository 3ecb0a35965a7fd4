package catalog

import (
	"cmp"
	"slices"

	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// Standing tells how the version of a thing stands to those of which Plumb
// knows what holds.
type Standing struct {
	Older, Newer bool
	Known        Range
}

// Standing compares the version of a thing with those that are known of its
// flavour. Neither older nor newer is one that cannot be read, and one of a
// flavour or kind that is not listed.
func (c *Catalog) Standing(t *stack.Thing) Standing {
	if c == nil || c.Kinds[t.Ref.Kind] == nil {
		return Standing{}
	}
	k := c.Kinds[t.Ref.Kind]
	known, err := ParseRange(ofFlavour(k.Known, t.Text("flavor")))
	v, err2 := ParseVersion(t.Text("version"))
	if err != nil || err2 != nil || known.Has(v) {
		return Standing{}
	}
	older := v.Compare(known.From) < 0
	return Standing{Older: older, Newer: !older, Known: known}
}

// knownVersions reads the key known: one range, or one for each flavour.
func knownVersions(s *strictyaml.Document, n *strictyaml.Node) map[string]string {
	known := perFlavour(s, n, "known")
	for _, text := range known {
		if r, err := ParseRange(text); err != nil || r.From == nil || r.To == nil {
			s.Errorf(n, "the versions that are known have a first and a last one: \"5.7-9.7\", not %q", text)
		}
	}
	return known
}

func ofFlavour(texts map[string]string, flavour string) string {
	return cmp.Or(texts[flavour], texts[""])
}

// EffectOn says when a change of the knob takes effect on a thing: the
// effect of its version where that is known to be another one. t may be nil.
func (f *Fact) EffectOn(t *stack.Thing) Effect {
	if t == nil {
		return f.Knob.Effect
	}
	v, err := ParseVersion(t.Text("version"))
	for effect, texts := range f.Knob.Effects {
		all, err2 := ParseRanges(ofFlavour(texts, t.Text("flavor")))
		if err == nil && err2 == nil && slices.ContainsFunc(all, func(r Range) bool { return r.Has(v) }) {
			return effect
		}
	}
	return f.Knob.Effect
}

// Say says in a sentence that a version is not among the known ones; "" when
// it is.
func (s Standing) Say(version string) string {
	switch {
	case s.Older:
		return "version " + version + " is older than " + s.Known.From.String() + ", the first that Plumb knows: only rules that cover such versions are judged"
	case s.Newer:
		return "version " + version + " is newer than " + s.Known.To.String() + ", the last that Plumb knows: later changes are not known"
	}
	return ""
}
