package rule

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/strictyaml"
)

// Limits reads dir/**/*.yaml, with a catalogue of windows ([catalog.Windows]).
// It returns what is sound, sorted by id, together with every mistake in the
// rest, examples that come out otherwise than wanted included.
func Limits(fsys fs.FS, dir string, cat *catalog.Catalog) ([]*Limit, error) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return nil, err
	}
	c, err := newCompiler(cat)
	if err != nil {
		return nil, err
	}
	names, err := ruleFiles(sub)
	if err != nil {
		return nil, err
	}
	all, wrong := make([]*Limit, len(names)), make([][]strictyaml.Error, len(names))
	each(len(names), func(i int) {
		d, err := writtenLimit(sub, dir, strings.TrimSuffix(names[i], ".yaml"))
		if err != nil {
			wrong[i] = []strictyaml.Error{{File: path.Join(dir, names[i]), Line: 1, Col: 1, Msg: err.Error()}}
			return
		}
		if len(d.doc.Errors()) == 0 {
			d.compile(c)
		}
		if wrong[i] = d.doc.Errors(); len(wrong[i]) == 0 {
			all[i] = d.limit
		}
	})
	all = slices.DeleteFunc(all, func(l *Limit) bool { return l == nil })
	return all, strictyaml.Join(slices.Concat(wrong...))
}

// ReadLimit reads one limit as it is written, for explaining: it cannot judge.
// The error is fs.ErrNotExist when there is no such limit.
func ReadLimit(fsys fs.FS, dir, id string) (*Limit, error) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil || !fs.ValidPath(id) {
		return nil, fmt.Errorf("read limit %s: %w", id, fs.ErrNotExist)
	}
	d, err := writtenLimit(sub, dir, id)
	if err != nil {
		return nil, fmt.Errorf("read limit %s: %w", id, err)
	}
	return d.limit, d.doc.Err()
}

// limitReader reads one file.
type limitReader struct {
	doc      *strictyaml.Document
	root     *strictyaml.Node
	limit    *Limit
	bindings map[string]*strictyaml.Node // by kind of server, as the next ones
	when     map[string]*strictyaml.Node
	share    map[string]*strictyaml.Node
	title    *strictyaml.Node
	say      map[string]*strictyaml.Node
	do       []*strictyaml.Node
	against  []writtenAgainst
	examples []*strictyaml.Node
}

type writtenAgainst struct {
	says *strictyaml.Node
	when map[string]*strictyaml.Node
}

// writtenLimit reads what is written and compiles nothing. Mistakes are the
// document's.
func writtenLimit(fsys fs.FS, dir, id string) (*limitReader, error) {
	data, err := readFile(fsys, id+".yaml")
	if err != nil {
		return nil, err
	}
	file := path.Join(dir, id+".yaml")
	doc, root := strictyaml.Parse(file, data)
	d := &limitReader{doc: doc, root: root, limit: &Limit{File: file}}
	if root != nil {
		d.fields(id)
	}
	return d, nil
}

func (d *limitReader) fields(id string) {
	s, l := d.doc, d.limit
	// The kinds come first: the other keys may be told apart by them.
	if n := valueOf(d.root, "servers"); n != nil {
		l.Servers = s.Texts(n, "servers")
	}
	text := func(into *string, what string) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { *into = strings.TrimSpace(s.Text(n, what)) }
	}
	texts := func(into *[]string, what string) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { *into = s.Texts(n, what) }
	}
	s.Object(d.root, "a limit", strictyaml.Fields{
		"id": func(n *strictyaml.Node) {
			if l.ID = s.Text(n, "id"); l.ID != id {
				s.Errorf(n, "the id is the path of the file: %s", id)
			}
		},
		"title":   func(n *strictyaml.Node) { d.title, l.Title = n, s.Text(n, "title") },
		"servers": func(*strictyaml.Node) {},
		"for":     func(n *strictyaml.Node) { d.bindings = d.perKind(n); l.For = lists(d.bindings) },
		"when":    func(n *strictyaml.Node) { d.when = d.perKind(n); l.When = scalars(d.when) },
		"share":   func(n *strictyaml.Node) { d.share = d.perKind(n); l.Share = scalars(d.share) },
		"say":     func(n *strictyaml.Node) { d.say = d.perKind(n) },
		"explain": text(&l.Explain, "explain"),
		"against": func(n *strictyaml.Node) { s.Items(n, "against", d.objection) },
		"causes":  texts(&l.Causes, "causes"),
		"rules":   texts(&l.Rules, "rules"),
		"do": func(n *strictyaml.Node) {
			s.Items(n, "do", func(c *strictyaml.Node) { d.do, l.Do = append(d.do, c), append(l.Do, s.Text(c, "do")) })
		},
		"sources": texts(&l.Sources, "sources"),
		"examples": func(n *strictyaml.Node) {
			s.Items(n, "examples", func(c *strictyaml.Node) { d.examples = append(d.examples, c) })
		},
	}, "id", "title", "servers", "when", "say", "explain", "against", "do", "sources", "examples")
	if len(l.Servers) == 0 || len(l.Sources) == 0 {
		s.Errorf(d.root, "a limit names at least one kind of server and one source")
	}
}

func (d *limitReader) objection(n *strictyaml.Node) {
	a, w := writtenAgainst{}, WrittenObjection{}
	d.doc.Object(n, "counter-evidence", strictyaml.Fields{
		"says": func(n *strictyaml.Node) { a.says, w.Says = n, d.doc.Text(n, "says") },
		"when": func(n *strictyaml.Node) { a.when = d.perKind(n); w.When = scalars(a.when) },
	}, "says", "when")
	d.against, d.limit.Against = append(d.against, a), append(d.limit.Against, w)
}

// perKind gives what is written for each kind of server: one for all, or one
// for each that is named.
func (d *limitReader) perKind(n *strictyaml.Node) map[string]*strictyaml.Node {
	out := map[string]*strictyaml.Node{}
	if !strictyaml.IsMap(n) {
		for _, kind := range d.limit.Servers {
			out[kind] = n
		}
		return out
	}
	d.doc.Entries(n, "what differs by server", func(key, value *strictyaml.Node) {
		if !slices.Contains(d.limit.Servers, key.Value) {
			d.doc.Errorf(key, "%s is not among the servers%s", key.Value, strictyaml.Meant(key.Value, d.limit.Servers))
		}
		out[key.Value] = value
	})
	return out
}

func valueOf(n *strictyaml.Node, key string) *strictyaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalars(nodes map[string]*strictyaml.Node) map[string]string {
	out := map[string]string{}
	for kind, n := range nodes {
		out[kind] = strings.TrimSpace(n.Value)
	}
	return out
}

func lists(nodes map[string]*strictyaml.Node) map[string][]string {
	out := map[string][]string{}
	for kind, n := range nodes {
		for _, c := range n.Content {
			out[kind] = append(out[kind], c.Value)
		}
	}
	return out
}
