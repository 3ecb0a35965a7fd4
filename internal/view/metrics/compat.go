package metrics

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/strictyaml"
	"plumb/internal/view/metrics/naming"
)

// Compat are names that other exporters use for what Plumb reads. What has such
// a name is not shown by ours as well.
type Compat struct {
	byFact map[series.ID]alias // of is the kind alone
}

// alias is a fact by another exporter's name.
type alias struct {
	shape  naming.Shape
	labels []naming.Label
	rename map[string]string // of labels
	both   bool              // it is shown by our name, too
}

// upFact stands for whether a server answers, which is no fact of the catalogue.
const upFact = "up"

// CompatFile is where the names are, below knowledge.
const CompatFile = "metrics/compat.yaml"

// LoadCompat reads the names of the exporters that are asked for: node, mysqld.
// For nothing asked it gives nil. An error names those there are.
func LoadCompat(fsys fs.FS, cat *catalog.Catalog, exporters []string) (*Compat, error) {
	if len(exporters) == 0 {
		return nil, nil
	}
	text, err := fs.ReadFile(fsys, CompatFile)
	if err != nil {
		return nil, err
	}
	c, known := &Compat{byFact: map[series.ID]alias{}}, []string{}
	s, root := strictyaml.Parse(CompatFile, text)
	if root != nil {
		s.Entries(root, "the list of exporters", func(key, value *strictyaml.Node) {
			known = append(known, key.Value)
			s.Items(value, key.Value, func(n *strictyaml.Node) { c.read(s, n, cat, slices.Contains(exporters, key.Value)) })
		})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, name := range exporters {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there are no names of an exporter %q: want one of %q", name, known)
		}
	}
	return c, nil
}

// read reads one name, and keeps it if its exporter is asked for.
func (c *Compat) read(s *strictyaml.Document, n *strictyaml.Node, cat *catalog.Catalog, asked bool) {
	name, kind, fact, raw := "", "", "", false
	a := alias{rename: map[string]string{}}
	s.Object(n, "a name", strictyaml.Fields{
		"name": func(v *strictyaml.Node) { name = s.Text(v, "name") },
		"of":   func(v *strictyaml.Node) { kind = s.Text(v, "of") },
		"fact": func(v *strictyaml.Node) { fact = s.Text(v, "fact") },
		"raw":  func(v *strictyaml.Node) { raw = s.Switch(v, "raw") },
		"both": func(v *strictyaml.Node) { a.both = s.Switch(v, "both") },
		"labels": func(v *strictyaml.Node) {
			s.Entries(v, "labels", func(key, value *strictyaml.Node) { a.labels = append(a.labels, label(key.Value, value.Value)) })
		},
		"as": func(v *strictyaml.Node) {
			s.Entries(v, "as", func(key, value *strictyaml.Node) { a.rename[key.Value] = value.Value })
		},
	}, "name", "of", "fact")
	f := cat.Fact(kind, fact)
	switch {
	case fact == upFact && product.IsServer(kind):
		a.shape = naming.Shape{Scale: 1}
	case f == nil:
		s.Errorf(n, "%s has no fact %s", kind, fact)
		return
	default:
		a.shape, _ = naming.ShapeOf(f)
	}
	if raw {
		a.shape.Scale = 1
	}
	if a.shape.Counter && !strings.HasSuffix(name, naming.Total) {
		a.shape.Counter, a.shape.Untyped = false, true
	}
	a.shape.Name, a.shape.Help = name, "as the exporter of that name gives it: "+kind+" "+fact
	if asked {
		c.byFact[series.ID{Of: stack.Ref{Kind: kind}, Name: fact}] = a
	}
}

// add adds a reading by the name it has there, and tells whether that is in place
// of ours.
func (c *Compat) add(fs *families, r series.Reading, labels []naming.Label) bool {
	if c == nil {
		return false
	}
	a, ok := c.byFact[series.ID{Of: stack.Ref{Kind: r.Of.Kind}, Name: r.Name}]
	if !ok {
		return false
	}
	all := slices.Clone(a.labels)
	for _, l := range labels {
		if to := a.rename[l.Name]; to != "" {
			l.Name = to
		}
		all = append(all, l)
	}
	fs.add(a.shape, r.Value, all)
	return !a.both
}

// addStates adds what stays until somebody changes it, such as the size of
// memory, which pictures have and sources do not.
func (c *Compat) addStates(fs *families, cat *catalog.Catalog, s *stack.Stack, labelsOf func(stack.Ref) ([]naming.Label, bool)) {
	if c == nil || s == nil {
		return
	}
	for _, t := range s.Things {
		for name := range t.Facts {
			id := series.ID{Of: stack.Ref{Kind: t.Ref.Kind}, Name: name}
			if _, asked := c.byFact[id]; !asked || cat.OverTime(t.Ref.Kind, name) != stack.State {
				continue
			}
			value, known := t.Number(name)
			if labels, ok := labelsOf(t.Ref); ok && known {
				c.add(fs, series.Reading{Of: t.Ref, Name: name, Value: value}, labels)
			}
		}
	}
}
