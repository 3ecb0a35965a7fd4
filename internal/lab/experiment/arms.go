package experiment

import (
	"slices"
	"strings"

	"plumb/internal/strictyaml"
)

// change is a path of a set-up and what it is set to.
type change struct {
	path      string
	at, value *strictyaml.Node // where the path and the value are written
}

// variant is a named list of changes: an arm, or a level of an axis.
type variant struct {
	name    string
	at      *strictyaml.Node
	changes []change
	levels  map[string]string
}

func (v variant) set() map[string]string {
	out := map[string]string{}
	for _, c := range v.changes {
		out[c.path] = written(c.value)
	}
	return out
}

// written gives a value as people read it.
func written(n *strictyaml.Node) string {
	if !strictyaml.IsList(n) {
		return n.Value
	}
	var parts []string
	for _, c := range n.Content {
		parts = append(parts, c.Value)
	}
	return strings.Join(parts, " ")
}

// spell makes the arms: those that are named, or all combinations of the axes,
// or the base alone. It is false when they could not be read.
func (r *reader) spell(root *strictyaml.Node) bool {
	before := len(r.doc.Errors())
	if r.base == nil {
		r.base = nodeAt(root, root.Kind, "")
	}
	var all []variant
	switch {
	case r.arms != nil && r.axes != nil:
		r.doc.Errorf(r.arms, "an experiment has axes or arms, not both")
		return false
	case r.arms != nil:
		all = r.readVariants(r.arms, "arms", "an arm", nil)
	case r.axes != nil:
		all = r.product(r.readAxes())
	default:
		all = []variant{{name: "base", at: r.base}}
	}
	if r.except != nil && r.axes == nil {
		r.doc.Errorf(r.except, "except leaves out combinations of axes, and there are no axes")
	}
	if len(r.doc.Errors()) > before {
		return false
	}
	if len(all) == 0 || len(all) > mostArms {
		for _, n := range []*strictyaml.Node{r.arms, r.axes} {
			if n != nil {
				root = n
			}
		}
		r.doc.Errorf(root, "there are %d arms: 1 to %d are possible", len(all), mostArms)
		return false
	}
	for _, v := range all {
		r.x.Arms = append(r.x.Arms, Arm{Name: v.name, Levels: v.levels})
	}
	r.variants = all
	return true
}

// readVariants reads a list of arms or of levels. Levels of an axis with a path
// may be bare values.
func (r *reader) readVariants(n *strictyaml.Node, list, what string, path *strictyaml.Node) []variant {
	var all []variant
	seen := map[string]bool{}
	r.items(n, list, mostArms, func(c *strictyaml.Node) {
		v := variant{at: c}
		switch {
		case strictyaml.IsMap(c):
			r.variant(c, what, &v)
		case path == nil:
			r.doc.Errorf(c, "%s is written {name: …, set: {path: value}}%s", what, withoutPath(what))
			return
		case strictyaml.IsList(c):
			v.name = strings.Join(r.doc.Texts(c, what), " ")
			v.changes = []change{{path.Value, path, c}}
		default:
			v.name = r.label(c, what)
			v.changes = []change{{path.Value, path, c}}
		}
		if seen[v.name] && v.name != "" {
			r.doc.Errorf(c, "%s named %q already exists", what, v.name)
		}
		seen[v.name] = true
		all = append(all, v)
	})
	return all
}

func withoutPath(what string) string {
	if what == "a level" {
		return "; a bare value needs the axis to have a path"
	}
	return ""
}

func (r *reader) variant(n *strictyaml.Node, what string, v *variant) {
	r.doc.Object(n, what, strictyaml.Fields{
		"name": func(n *strictyaml.Node) { v.name = r.label(n, "the name of "+what) },
		"set": func(n *strictyaml.Node) {
			r.doc.Entries(n, "set", func(key, value *strictyaml.Node) {
				if strictyaml.IsMap(value) {
					r.doc.Errorf(value, "set has whole paths with one value each: %s.… : value", key.Value)
					return
				}
				v.changes = append(v.changes, change{key.Value, key, value})
			})
		},
	}, "name", "set")
}

// axis is one axis as it is written.
type axis struct {
	name   string
	at     *strictyaml.Node
	levels []variant
}

func (r *reader) readAxes() []axis {
	var all []axis
	r.items(r.axes, "axes", mostAxes, func(n *strictyaml.Node) {
		a := axis{at: n}
		var levels, path *strictyaml.Node
		r.doc.Object(n, "an axis", strictyaml.Fields{
			"name":   func(n *strictyaml.Node) { a.name = r.label(n, "the name of an axis") },
			"path":   func(n *strictyaml.Node) { path = n; r.needed(n, "path") },
			"levels": func(n *strictyaml.Node) { levels = n },
		}, "name", "levels")
		if levels == nil {
			return
		}
		if a.levels = r.readVariants(levels, "levels", "a level", path); len(a.levels) == 0 {
			r.doc.Errorf(levels, "an axis needs levels")
		}
		if slices.ContainsFunc(all, func(b axis) bool { return b.name == a.name }) {
			r.doc.Errorf(n, "an axis named %q already exists", a.name)
		}
		all = append(all, a)
	})
	r.overlaps(all)
	for _, a := range all {
		shown := Axis{Name: a.name}
		for _, l := range a.levels {
			shown.Levels = append(shown.Levels, Level{Name: l.name, Set: l.set()})
		}
		r.x.Axes = append(r.x.Axes, shown)
	}
	return all
}

// overlaps finds paths that two axes set: the later would hide the earlier.
func (r *reader) overlaps(all []axis) {
	owner := map[string]int{}
	for i, a := range all {
		for _, l := range a.levels {
			for _, c := range l.changes {
				if first, taken := owner[c.path]; taken && first != i {
					r.doc.Errorf(c.at, "%s is set by the axis %q already", c.path, all[first].name)
					continue
				}
				owner[c.path] = i
			}
		}
	}
}

// product gives every combination of levels, the last axis fastest, without
// those that are left out.
func (r *reader) product(axes []axis) []variant {
	out := r.exceptions(axes)
	all := []variant{{}}
	for _, a := range axes {
		var next []variant
		for _, v := range all {
			for _, l := range a.levels {
				next = append(next, combine(v, a, l))
			}
		}
		if all = next; len(all) > 100*mostArms {
			return all // too many, whatever is left out: said where they are counted
		}
	}
	if len(axes) == 0 {
		return nil
	}
	return slices.DeleteFunc(all, func(v variant) bool {
		return slices.ContainsFunc(out, func(e map[string]string) bool { return within(v.levels, e) })
	})
}

func combine(v variant, a axis, l variant) variant {
	out := variant{name: l.name, at: l.at, levels: map[string]string{a.name: l.name}}
	if v.name != "" {
		out.name = v.name + ", " + l.name
	}
	for name, level := range v.levels {
		out.levels[name] = level
	}
	out.changes = append(slices.Clone(v.changes), l.changes...)
	return out
}

// within tells whether a combination has all the levels of an exception.
func within(levels, exception map[string]string) bool {
	for axis, level := range exception {
		if levels[axis] != level {
			return false
		}
	}
	return true
}

// exceptions reads the combinations that are left out.
func (r *reader) exceptions(axes []axis) (out []map[string]string) {
	if r.except == nil {
		return nil
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.name
	}
	r.items(r.except, "except", mostArms, func(n *strictyaml.Node) {
		e := map[string]string{}
		r.doc.Entries(n, "an item of except", func(key, value *strictyaml.Node) {
			i := slices.Index(names, key.Value)
			if i < 0 {
				r.doc.Errorf(key, "there is no axis %q%s", key.Value, strictyaml.Meant(key.Value, names))
				return
			}
			var levels []string
			for _, l := range axes[i].levels {
				levels = append(levels, l.name)
			}
			e[key.Value] = r.doc.OneOf(value, "a level of "+key.Value, levels...)
		})
		if len(e) > 0 {
			out = append(out, e)
		}
	})
	return out
}
