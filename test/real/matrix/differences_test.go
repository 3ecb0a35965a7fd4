// Package matrix holds Plumb against the versions of servers it speaks of. The
// catalogue of knobs is compared with what each server itself lists; each
// server is observed, taped, changed, restarted, undone and loaded.
package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/catalog"
)

// Server is what a server lists of its settings.
type Server struct {
	Flavor   string // mysql, percona, mariadb or postgres
	Version  string
	Whole    bool // whether the catalogue means to name every one of them
	Settings map[string]Setting
}

// Setting is what a server says of one of its settings. What it does not say
// is empty.
type Setting struct {
	Type        string  // in the server's words, in lower case: bool, enum, bigint unsigned
	Unit        string  // of a bare number: kB, 8kB, ms
	Default     *string // the built-in one
	Least, Most string  // bounds of a number, in Unit
	Words       []string
	Effects     []catalog.Effect // of which one is right
}

// Point is what the catalogue and a server differ in.
type Point string

// The points.
const (
	Missing  Point = "missing"  // the catalogue claims it for this version, which does not have it
	Denied   Point = "denied"   // the catalogue's ranges leave this version out, which has it
	Unlisted Point = "unlisted" // the catalogue does not name it
	Type     Point = "type"
	Unit     Point = "unit"
	Default  Point = "default"
	Effect   Point = "effect"
	Bound    Point = "bound" // the server takes what the catalogue would refuse
	Word     Point = "word"  // likewise, of an enumeration
)

// Finding is one difference between the catalogue and a server.
type Finding struct {
	Knob  string
	Point Point
	Says  string // the catalogue
	Is    string // the server
}

// String gives the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: the catalogue says %s, the server %s", f.Knob, f.Point, f.Says, f.Is)
}

// Compare lists in what the knobs of a catalogue differ from a server's own
// list, by name.
func Compare(knobs map[string]*catalog.Fact, s Server) []Finding {
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		f := knobs[name]
		setting, have := s.Settings[name]
		switch claims := f.Knob.Has(s.Flavor, s.Version); {
		case claims && !have:
			all = append(all, Finding{name, Missing, "it is there: " + ranges(f.Knob, s.Flavor), "has none"})
		case !claims && have:
			all = append(all, Finding{name, Denied, "it is not there: " + ranges(f.Knob, s.Flavor), "has it"})
		case have:
			all = append(all, differ(f, s, setting)...)
		}
	}
	if s.Whole {
		for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
			if knobs[name] == nil {
				all = append(all, Finding{name, Unlisted, "nothing", "has it"})
			}
		}
	}
	return all
}

// ranges are the versions that the catalogue gives for a flavour.
func ranges(k *catalog.Knob, flavor string) string {
	for _, key := range []string{flavor, ""} {
		if text, ok := k.Versions[key]; ok {
			return text
		}
	}
	if k.Versions == nil {
		return "everywhere"
	}
	return "not in " + flavor
}

// differ compares one knob that the server has.
func differ(f *catalog.Fact, s Server, is Setting) []Finding {
	var all []Finding
	add := func(p Point, says, is string) { all = append(all, Finding{f.Name, p, says, is}) }
	if is.Type != "" && !fits(f.Type, is) {
		add(Type, string(f.Type), is.Type)
	}
	if !measures(f.Type, is.Unit) {
		add(Unit, string(f.Type), "\""+is.Unit+"\"")
		return all // its numbers cannot be compared
	}
	if is.Default != nil {
		if says, differs := defaultDiffers(f, s, is); differs {
			add(Default, says, strings.TrimSpace(*is.Default+" "+is.Unit))
		}
	}
	effect := f.Knob.Effect
	if toldRestart(f.Doc, s.Version) {
		effect = catalog.Restart
	}
	if len(is.Effects) > 0 && !slices.Contains(is.Effects, effect) {
		add(Effect, string(effect), fmt.Sprint(is.Effects))
	}
	all = append(all, bounds(f, is)...)
	for _, w := range is.Words {
		if len(f.Knob.Values) > 0 && !slices.ContainsFunc(f.Knob.Values, func(v string) bool { return strings.EqualFold(v, w) }) {
			add(Word, strings.Join(f.Knob.Values, ", "), w)
		}
	}
	return all
}

// bounds finds numbers that the server takes and the catalogue refuses.
func bounds(f *catalog.Fact, is Setting) []Finding {
	var all []Finding
	if least, ok := number(f, is.Unit, is.Least); ok && f.Knob.Min != nil && *f.Knob.Min > least {
		all = append(all, Finding{f.Name, Bound, fmt.Sprintf("at least %g", *f.Knob.Min), fmt.Sprintf("at least %g", least)})
	}
	if most, ok := number(f, is.Unit, is.Most); ok && f.Knob.Max != nil && *f.Knob.Max < most {
		all = append(all, Finding{f.Name, Bound, fmt.Sprintf("at most %g", *f.Knob.Max), fmt.Sprintf("at most %g", most)})
	}
	return all
}

// fits tells whether a server's type can be read as a fact's.
func fits(t catalog.Type, is Setting) bool {
	words := is.Type == "enum" || is.Type == "set" || is.Type == "flagset"
	fraction := is.Type == "real" || is.Type == "double"
	switch t {
	case catalog.Bool:
		return strings.HasPrefix(is.Type, "bool") || words && len(is.Words) == 2 && slices.Contains(is.Words, "ON") && slices.Contains(is.Words, "OFF")
	case catalog.Text, catalog.List:
		return words || is.Type == "string" || is.Type == "varchar"
	case catalog.Float, catalog.Percent, catalog.Ratio, catalog.Rate:
		return fraction
	case catalog.Int, catalog.Bytes:
		return strings.Contains(is.Type, "int")
	}
	return strings.Contains(is.Type, "int") || fraction // PostgreSQL has fractions of milliseconds
}
