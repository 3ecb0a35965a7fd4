package experiment

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"plumb/internal/strictyaml"
)

// pairs reads which arms are compared with which.
func (r *reader) pairs() {
	switch {
	case r.compare != nil && strictyaml.IsList(r.compare):
		if r.baseline != nil {
			r.doc.Errorf(r.baseline, "baseline has no effect if compare lists the pairs")
		}
		r.items(r.compare, "compare", mostPairs, r.pair)
	case r.compare != nil:
		r.compareAxis()
	default:
		r.compareAll()
	}
}

// pair reads [arm, baseline].
func (r *reader) pair(n *strictyaml.Node) {
	if !strictyaml.IsList(n) || len(n.Content) != 2 {
		r.doc.Errorf(n, "a comparison is [arm, baseline], two names")
		return
	}
	names := r.doc.Texts(n, "a comparison")
	one, two := r.known(n.Content[0], names[0]), r.known(n.Content[1], names[1])
	p := Pair{Arm: names[0], Baseline: names[1]}
	switch {
	case !one || !two:
	case p.Arm == p.Baseline:
		r.doc.Errorf(n, "an arm cannot be compared with itself; two equal arms with different names can")
	case slices.Contains(r.x.Pairs, p):
		r.doc.Errorf(n, "this comparison already exists")
	default:
		r.x.Pairs = append(r.x.Pairs, p)
	}
}

// known says when there is no arm of a name.
func (r *reader) known(n *strictyaml.Node, name string) bool {
	var names []string
	for _, a := range r.x.Arms {
		names = append(names, a.Name)
	}
	if slices.Contains(names, name) {
		return true
	}
	r.doc.Errorf(n, "there is no arm %q%s", name, strictyaml.Meant(name, names))
	return false
}

// compareAll compares every arm with the first, or with the baseline.
func (r *reader) compareAll() {
	baseline := r.x.Arms[0].Name
	if r.baseline != nil {
		if baseline = r.doc.Text(r.baseline, "baseline"); !r.known(r.baseline, baseline) {
			return
		}
	}
	for _, a := range r.x.Arms {
		if a.Name != baseline {
			r.x.Pairs = append(r.x.Pairs, Pair{a.Name, baseline})
		}
	}
}

// compareAxis compares, within each combination of the other axes, every level
// of one axis with its first, or with the level that baseline names.
func (r *reader) compareAxis() {
	name := r.doc.Text(r.compare, "compare")
	var axes, levels []string
	for _, a := range r.x.Axes {
		if axes = append(axes, a.Name); a.Name == name {
			for _, l := range a.Levels {
				levels = append(levels, l.Name)
			}
		}
	}
	switch {
	case r.compare.Kind != yaml.ScalarNode:
		return // said
	case len(axes) == 0:
		r.doc.Errorf(r.compare, "compare names an axis, and there are none: write [[arm, baseline], …]")
		return
	case levels == nil:
		r.doc.Errorf(r.compare, "there is no axis %q%s", name, strictyaml.Meant(name, axes))
		return
	}
	baseline := levels[0]
	if r.baseline != nil {
		if baseline = r.doc.OneOf(r.baseline, "baseline", levels...); baseline == "" {
			return
		}
	}
	r.compareLevels(name, baseline)
}

func (r *reader) compareLevels(axis, baseline string) {
	others := func(a Arm) string {
		var parts []string
		for name := range sorted(a.Levels) {
			if name != axis {
				parts = append(parts, a.Levels[name])
			}
		}
		return strings.Join(parts, ", ")
	}
	base := map[string]string{}
	for _, a := range r.x.Arms {
		if a.Levels[axis] == baseline {
			base[others(a)] = a.Name
		}
	}
	for _, a := range r.x.Arms {
		with, have := base[others(a)]
		switch {
		case a.Levels[axis] == baseline:
		case !have:
			r.doc.Errorf(r.compare, "%q has no counterpart: the arm with %s %s is left out; name another baseline, or write [[arm, baseline], …]",
				a.Name, axis, baseline)
		default:
			r.x.Pairs = append(r.x.Pairs, Pair{a.Name, with})
		}
	}
}

// readPublished reads the numbers of the source.
func (r *reader) readPublished() {
	if r.published == nil {
		return
	}
	s := r.doc
	r.items(r.published, "published", mostArms, func(n *strictyaml.Node) {
		var p Published
		s.Object(n, "a published number", strictyaml.Fields{
			"arm": func(n *strictyaml.Node) {
				if p.Arm = s.Text(n, "arm"); r.known(n, p.Arm) && slices.ContainsFunc(r.x.Published, func(q Published) bool { return q.Arm == p.Arm }) {
					s.Errorf(n, "the arm %q already has a published number", p.Arm)
				}
			},
			"value": func(n *strictyaml.Node) { p.Value = r.real(n, "value", 0, 1e15) },
			"unit":  func(n *strictyaml.Node) { p.Unit = r.needed(n, "unit") },
			"note":  func(n *strictyaml.Node) { p.Note = s.Text(n, "note") },
		}, "arm", "value", "unit")
		r.x.Published = append(r.x.Published, p)
	})
}

// Invariants that can be tested after a trial.
const (
	NoErrors    = "no-errors"   // no operation failed
	Rows        = "rows"        // the tables have as many rows as they were loaded with
	Consistency = "consistency" // TPC-C's conditions; of oltp the rows
)

// readChecks reads the invariants and refuses those a load cannot keep.
func (r *reader) readChecks() {
	if r.checks == nil {
		return
	}
	s := r.doc
	r.items(r.checks, "checks", 3, func(n *strictyaml.Node) {
		name := s.OneOf(n, "a check", NoErrors, Rows, Consistency)
		if name == "" {
			return
		}
		if slices.Contains(r.x.Checks, name) {
			s.Errorf(n, "%s is listed twice", name)
			return
		}
		r.x.Checks = append(r.x.Checks, name)
		for _, a := range r.x.Arms {
			if why := unfit(name, a.Setup.Load); why != "" {
				s.Errorf(n, "%s cannot be checked in the arm %q: %s", name, a.Name, why)
				return
			}
		}
	})
}

// unfit tells why a load cannot be checked so; "" when it can.
func unfit(check string, l Load) string {
	switch {
	case check == NoErrors || l.Kind == "":
	case l.Kind == FileIO || l.Kind == Fsync:
		return "there is no server"
	case l.Kind == TPCC && check == Rows:
		return "orders are added; consistency tests TPC-C's conditions"
	case !KeepsRows(l.Script):
		return l.Script + " changes how many rows there are"
	}
	return ""
}

// sorted gives the keys of a map in order.
func sorted(m map[string]string) iter.Seq[string] { return slices.Values(slices.Sorted(maps.Keys(m))) }
