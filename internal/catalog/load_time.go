package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// checkOverTime completes what a fact does over time. Of a number that is only
// observed it must be said: taken for a gauge, a counter would be judged by its
// age. Everything else stays until somebody changes it.
func checkOverTime(s *strictyaml.Document, f *Fact, at *strictyaml.Node) {
	number := f.Type != Bool && f.Type != Text && f.Type != List
	whole := f.Type.Fits(stack.Int(0))
	switch {
	case f.OverTime == "" && number && f.Knob == nil:
		s.Errorf(at, "%s is a number and needs the key \"over_time\": counter, gauge, state or average", f.Name)
	case f.OverTime == stack.Counter && !whole:
		s.Errorf(at, "%s is a counter, and a counter is a whole number: int, bytes, ms, us or s", f.Name)
	case f.OverTime != "" && f.OverTime != stack.State && f.Knob != nil:
		s.Errorf(at, "%s can be set, and a setting is a state", f.Name)
	case f.Since != "" && f.OverTime != stack.Counter:
		s.Errorf(at, "%s has counts_since and is not a counter", f.Name)
	}
	if f.OverTime == "" {
		f.OverTime = stack.State
	}
}

// sinceOf is a counts_since whose fact may be in a place not read yet.
type sinceOf struct {
	kind *Kind
	fact string
	at   strictyaml.Error
}

func (l *loader) checkSinces() {
	for _, p := range l.sinces {
		kind, name := p.kind, p.fact
		if of, host := strings.CutPrefix(name, "host."); host {
			kind, name = l.cat.Kinds["host"], of
		}
		if kind == nil {
			continue // the kind is missing, and that was said
		}
		if f := kind.Facts[name]; f == nil || f.Type != Seconds {
			p.at.Msg = fmt.Sprintf("counts_since: %s has no fact %s of type s%s", kind.Name, name, strictyaml.Meant(name, slices.Sorted(maps.Keys(kind.Facts))))
			l.errors = append(l.errors, p.at)
		}
	}
}

func at(s *strictyaml.Document, n *strictyaml.Node) strictyaml.Error {
	return strictyaml.Error{File: s.File, Line: n.Line, Col: n.Column}
}
