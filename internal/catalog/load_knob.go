package catalog

import (
	"cmp"
	"slices"
	"strings"

	"plumb/internal/strictyaml"
)

// knobFields adds the keys that only knobs have.
func (l *loader) knobFields(s *strictyaml.Document, f *Fact, fields strictyaml.Fields) {
	k := f.Knob
	fields["versions"] = func(n *strictyaml.Node) { k.Versions = perFlavour(s, n, "versions") }
	fields["default"] = func(n *strictyaml.Node) { k.Default = perFlavour(s, n, "default") }
	fields["default_before"] = func(n *strictyaml.Node) { k.Before = perFlavour(s, n, "default_before") }
	fields["values"] = func(n *strictyaml.Node) { k.Values = s.Texts(n, "values") }
	fields["min"] = func(n *strictyaml.Node) { v := s.Number(n, "min"); k.Min = &v }
	fields["max"] = func(n *strictyaml.Node) { v := s.Number(n, "max"); k.Max = &v }
	fields["effect"] = func(n *strictyaml.Node) {
		k.Effect = Effect(s.OneOf(n, "effect", effectNames()...))
		k.Effect = cmp.Or(k.Effect, Now) // a mistake is reported once
	}
	fields["effects"] = func(n *strictyaml.Node) {
		k.Effects = map[Effect]map[string]string{}
		s.Entries(n, "effects", func(key, value *strictyaml.Node) {
			effect := Effect(s.OneOf(key, "effects", effectNames()...))
			k.Effects[effect] = perFlavour(s, value, "versions")
			for _, text := range k.Effects[effect] {
				if _, err := ParseRanges(text); err != nil {
					s.Errorf(value, "%v", err)
				}
			}
		})
	}
	fields["durability"] = func(n *strictyaml.Node) {
		k.Durability = map[string]string{}
		s.Entries(n, "durability", func(key, value *strictyaml.Node) {
			class := s.Text(value, "a durability class")
			if class != Safe && class != MayLose && class != MayCorrupt && !strings.HasPrefix(class, Conditional) {
				s.Errorf(value, "a durability class is %s, %s, %s or \"%s…\", not %q", Safe, MayLose, MayCorrupt, Conditional, class)
			}
			k.Durability[key.Value] = class
		})
	}
	fields["removed"] = func(n *strictyaml.Node) { k.Removed = s.Text(n, "removed") }
	fields["ignored"] = func(n *strictyaml.Node) { k.Ignored = perFlavour(s, n, "ignored") }
	fields["sources"] = func(n *strictyaml.Node) { k.Sources = s.Texts(n, "sources") }
}

func effectNames() []string {
	return []string{string(Now), string(Reload), string(NewWrites), string(Remount), string(Restart), string(Recreate)}
}

// perFlavour reads a text, or one text for each flavour.
func perFlavour(s *strictyaml.Document, n *strictyaml.Node, what string) map[string]string {
	out := map[string]string{}
	if !strictyaml.IsMap(n) {
		out[""] = s.Text(n, what)
		return out
	}
	s.Entries(n, what, func(key, value *strictyaml.Node) {
		if value.Value == "" && !strictyaml.IsNull(value) {
			out[key.Value] = "" // an empty default is a value
			return
		}
		out[key.Value] = s.Text(value, what+" of "+key.Value)
	})
	return out
}

// checkKnob looks at what only the whole knob tells: that its texts are
// values of its type and its ranges can be read.
func (l *loader) checkKnob(s *strictyaml.Document, f *Fact, at *strictyaml.Node) {
	k := f.Knob
	if k.Effect == "" && k.Removed == "" {
		s.Errorf(at, "knob %s needs the key \"effect\"", f.Name)
	}
	for key, ranges := range map[string]map[string]string{"versions": k.Versions, "ignored": k.Ignored} {
		for flavour, text := range ranges {
			if _, err := ParseRanges(text); err != nil {
				s.Errorf(at, "%s of %s for %q: %v", key, f.Name, flavour, err)
			}
		}
	}
	l.checkTexts(s, f, at)
	if k.Min != nil && k.Max != nil && *k.Min > *k.Max {
		s.Errorf(at, "min %g of %s is above its max %g", *k.Min, f.Name, *k.Max)
	}
}

func (l *loader) checkTexts(s *strictyaml.Document, f *Fact, at *strictyaml.Node) {
	k := f.Knob
	check := func(key, text string) {
		if _, err := ParseValue(f, text); err != nil {
			s.Errorf(at, "%s of %s: %v", key, f.Name, err)
		}
		if len(k.Values) > 0 && f.Type == Text && !slices.ContainsFunc(k.Values, func(v string) bool { return strings.EqualFold(v, text) }) {
			s.Errorf(at, "%s of %s: %q is not among its values%s", key, f.Name, text, strictyaml.Meant(text, k.Values))
		}
	}
	for _, text := range k.Default {
		check("default", text)
	}
	for version, text := range k.Before {
		check("default_before "+version, text)
		if _, err := ParseVersion(version); err != nil {
			s.Errorf(at, "default_before of %s wants a version, such as {\"2.2\": VALUE}, not %q", f.Name, version)
		}
	}
	for text := range k.Durability {
		limit, above := strings.CutPrefix(text, Above)
		check("durability", limit)
		if v, err := ParseValue(f, limit); above && err == nil {
			if _, number := v.Int(); !number {
				s.Errorf(at, "durability of %s: %q wants a whole number", f.Name, text)
			}
		}
	}
	for _, text := range k.Values {
		check("values", text)
	}
}
