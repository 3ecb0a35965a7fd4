package metrics

import (
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// shape is how a fact is shown: by a name with its base unit, and by what its
// number is multiplied with to be in that unit.
type shape struct {
	name, help string
	counter    bool
	scale      float64
}

// units are the types that have a base unit: how the fact's own name may end,
// what the metric's name ends in, and the scale.
var units = map[catalog.Type]struct {
	own, base string
	scale     float64
}{
	catalog.Bytes:   {"_bytes", "_bytes", 1},
	catalog.Millis:  {"_ms", "_seconds", 1e-3},
	catalog.Micros:  {"_us", "_seconds", 1e-6},
	catalog.Seconds: {"_seconds", "_seconds", 1},
	catalog.Percent: {"_percent", "_ratio", 1e-2},
	catalog.Ratio:   {"_ratio", "_ratio", 1},
}

// shapeOf gives the shape of a fact; false for texts and lists, which are no
// numbers.
func shapeOf(f *catalog.Fact) (shape, bool) {
	if f == nil || f.Type == catalog.Text || f.Type == catalog.List {
		return shape{}, false
	}
	s := shape{name: f.Name, help: f.Doc, counter: f.OverTime == stack.Counter, scale: 1}
	if u, ok := units[f.Type]; ok {
		s.name, s.scale = strings.TrimSuffix(s.name, u.own)+u.base, u.scale
	}
	if s.counter {
		s.name += "_total"
	}
	if base, ok := strings.CutSuffix(s.name, "_count"); ok { // that end is a histogram's
		s.name = base + "_number"
	}
	s.name = "plumb_" + f.Kind + "_" + strings.Map(nameRune, s.name)
	return s, true
}

// nameRune keeps what a name may hold.
func nameRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
		return r
	}
	if r >= 'A' && r <= 'Z' {
		return r + ('a' - 'A')
	}
	return '_'
}

// sampled tells whether a fact of the catalogue of windows is read again and
// again, or computed of such, rather than derived from one that is.
func sampled(k *catalog.Kind, f *catalog.Fact) bool {
	if f.OverTime != stack.Counter && f.OverTime != stack.Gauge {
		return false
	}
	for _, suffix := range []string{catalog.RateOf, catalog.LeastOf, catalog.MostOf, catalog.GrowthOf} {
		base, ok := strings.CutSuffix(f.Name, suffix)
		if from := k.Facts[base]; ok && from != nil && from.File == f.File && from.Line == f.Line {
			return false
		}
	}
	return true
}
