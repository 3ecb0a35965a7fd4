package metrics

import (
	"fmt"
	"io/fs"
	"slices"

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
	shape    naming.Shape
	labels   []naming.Label
	rename   map[string]string // of labels
	both     bool              // it is shown by our name, too
	versions []catalog.Range   // of servers that have it there; none: all
}

// upFact stands for whether a server answers, which is no fact of the catalogue.
const upFact = "up"

// CompatFile is where the names are, below knowledge.
const CompatFile = "metrics/compat.yaml"

// Exporters are those whose names CompatFile has.
func Exporters() []string { return []string{"node", "mysqld", "postgres", "mongodb"} }

// LoadCompat reads the names of the exporters that are asked for, some of
// [Exporters]. For nothing asked it gives nil. An error names those there are.
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
	name, kind, fact, raw, untyped := "", "", "", false, false
	a := alias{rename: map[string]string{}}
	s.Object(n, "a name", strictyaml.Fields{
		"name":     func(v *strictyaml.Node) { name = s.Text(v, "name") },
		"of":       func(v *strictyaml.Node) { kind = s.Text(v, "of") },
		"fact":     func(v *strictyaml.Node) { fact = s.Text(v, "fact") },
		"raw":      func(v *strictyaml.Node) { raw = s.Switch(v, "raw") },
		"untyped":  func(v *strictyaml.Node) { untyped = s.Switch(v, "untyped") },
		"both":     func(v *strictyaml.Node) { a.both = s.Switch(v, "both") },
		"versions": func(v *strictyaml.Node) { a.versions = ranges(s, v) },
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
	if untyped {
		a.shape.Counter, a.shape.Untyped = false, true
	}
	a.shape.Name, a.shape.Help = name, "as the exporter of that name gives it: "+kind+" "+fact
	if asked {
		c.byFact[series.ID{Of: stack.Ref{Kind: kind}, Name: fact}] = a
	}
}

func ranges(s *strictyaml.Document, n *strictyaml.Node) []catalog.Range {
	all, err := catalog.ParseRanges(s.Text(n, "versions"))
	if err != nil {
		s.Errorf(n, "versions: %v", err)
	}
	return all
}

// of gives the other exporter's name of a fact of a thing. Where only some versions have it there, that of the thing
// must be known.
func (c *Compat) of(ref stack.Ref, fact string, version func(stack.Ref) string) (alias, bool) {
	if c == nil {
		return alias{}, false
	}
	a, ok := c.byFact[series.ID{Of: stack.Ref{Kind: ref.Kind}, Name: fact}]
	if !ok || a.versions == nil {
		return a, ok
	}
	v, err := catalog.ParseVersion(version(ref))
	return a, err == nil && slices.ContainsFunc(a.versions, func(r catalog.Range) bool { return r.Has(v) })
}

// names tells whether it has names for things of a kind.
func (c *Compat) names(kind string) bool {
	if c == nil {
		return false
	}
	for id := range c.byFact {
		if id.Of.Kind == kind {
			return true
		}
	}
	return false
}

// Databases tells whether what is counted for each database of a server is shown, and so whether to read it.
func (e *Exporter) Databases() bool { return e.o.Compat.names(series.DatabaseKind) }

// onlyByOthers tells whether things of a kind are shown only where others' names for them are asked for: of databases
// there are many, with a dozen series each.
func onlyByOthers(kind string) bool { return kind == series.DatabaseKind }
