// Package naming says what facts and things are called in Prometheus: as names of
// series with base units, and as labels. What is scraped, sent and exported of a
// recording is called alike, so that it is one series wherever it comes from.
package naming

import (
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// Shape is how a fact is shown: by a name with its base unit, and by what its
// number is multiplied with to be in that unit.
type Shape struct {
	Name, Help string // a counter's name ends in Total
	Counter    bool
	Untyped    bool // neither a counter nor a gauge, as far as its name tells: another exporter's
	Scale      float64
}

// Total is how the name of a counter ends.
const Total = "_total"

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

// ShapeOf gives the shape of a fact; false for texts and lists, which are no
// numbers.
func ShapeOf(f *catalog.Fact) (Shape, bool) {
	if f == nil || f.Type == catalog.Text || f.Type == catalog.List {
		return Shape{}, false
	}
	s := Shape{Name: f.Name, Help: f.Doc, Counter: f.OverTime == stack.Counter, Scale: 1}
	if u, ok := units[f.Type]; ok {
		s.Name, s.Scale = strings.TrimSuffix(s.Name, u.own)+u.base, u.scale
	}
	if s.Counter {
		s.Name += Total
	}
	if base, ok := strings.CutSuffix(s.Name, "_count"); ok { // that end is a histogram's
		s.Name = base + "_number"
	}
	s.Name = "plumb_" + f.Kind + "_" + strings.Map(nameRune, s.Name)
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
