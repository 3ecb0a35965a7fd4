package catalog

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// Load reads facts/*.yaml and knobs/*.yaml. It returns the catalogue as far
// as it could be read, together with every mistake found, joined into one
// error whose parts are of type [strictyaml.Error].
func Load(fsys fs.FS) (*Catalog, error) {
	return LoadPart(fsys, func([]byte) bool { return true })
}

// LoadPart is Load for those files of knobs that are wanted by their text:
// explaining one setting takes a tenth of the time it takes to read all.
func LoadPart(fsys fs.FS, wanted func(text []byte) bool) (*Catalog, error) {
	l := loader{cat: &Catalog{Kinds: map[string]*Kind{}}}
	l.each(fsys, "facts", func([]byte) bool { return true }, l.factsFile)
	l.each(fsys, "knobs", wanted, l.knobsFile)
	l.checkLinks()
	l.checkSinces()
	return l.cat, strictyaml.Join(l.errors)
}

type loader struct {
	cat    *Catalog
	errors []strictyaml.Error
	links  []pending
	sinces []sinceOf
}

// pending is a link whose target kind may be in a file not read yet.
type pending struct {
	link Link
	at   strictyaml.Error
}

func (l *loader) each(fsys fs.FS, dir string, wanted func([]byte) bool, read func(*strictyaml.Document, *strictyaml.Node)) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.yaml"))
	if err != nil {
		l.fail(dir, err)
	}
	for i, p := range parseAll(fsys, files, wanted) {
		if p.err != nil {
			l.fail(files[i], p.err)
			continue
		}
		if p.doc == nil { // not wanted
			continue
		}
		if p.root != nil {
			read(p.doc, p.root)
		}
		l.errors = append(l.errors, p.doc.Errors()...)
	}
}

type parsed struct {
	doc  *strictyaml.Document
	root *strictyaml.Node
	err  error
}

// parseAll parses files side by side, because YAML is most of the time it
// takes to start. What they say is read in order.
func parseAll(fsys fs.FS, files []string, wanted func([]byte) bool) []parsed {
	out := make([]parsed, len(files))
	var wg sync.WaitGroup
	for i, name := range files {
		wg.Go(func() {
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				out[i].err = err
				return
			}
			if !wanted(data) {
				return
			}
			out[i].doc, out[i].root = strictyaml.Parse(name, data)
		})
	}
	wg.Wait()
	return out
}

func (l *loader) fail(file string, err error) {
	l.errors = append(l.errors, strictyaml.Error{File: file, Line: 1, Col: 1, Msg: fmt.Sprintf("read: %v", err)})
}

// factsFile reads one file of facts/.
func (l *loader) factsFile(s *strictyaml.Document, root *strictyaml.Node) {
	k := l.kindOf(s, root)
	if k == nil {
		return
	}
	s.Object(root, "a file of facts", strictyaml.Fields{
		"kind":  func(*strictyaml.Node) {},
		"title": func(n *strictyaml.Node) { k.Title = s.Text(n, "title") },
		"open":  func(n *strictyaml.Node) { k.Open = s.Switch(n, "open") },
		"known": func(n *strictyaml.Node) { k.Known = knownVersions(s, n) },
		"counts_since": func(n *strictyaml.Node) {
			k.Since = s.Text(n, "counts_since")
			l.sinces = append(l.sinces, sinceOf{k, k.Since, at(s, n)})
		},
		"links": func(n *strictyaml.Node) {
			s.Entries(n, "links", func(key, value *strictyaml.Node) { l.link(s, k, key, value) })
		},
		"facts": func(n *strictyaml.Node) {
			s.Entries(n, "facts", func(key, value *strictyaml.Node) { l.fact(s, k, key, value, false) })
		},
	}, "kind")
}

// knobsFile reads one file of knobs/.
func (l *loader) knobsFile(s *strictyaml.Document, root *strictyaml.Node) {
	k := l.kindOf(s, root)
	if k == nil {
		return
	}
	s.Object(root, "a file of knobs", strictyaml.Fields{
		"kind": func(*strictyaml.Node) {},
		"knobs": func(n *strictyaml.Node) {
			s.Entries(n, "knobs", func(key, value *strictyaml.Node) { l.fact(s, k, key, value, true) })
		},
	}, "kind", "knobs")
	if k.Title == "" {
		delete(l.cat.Kinds, k.Name)
		s.Errorf(root, "kind %s is not described in facts/%s", k.Name, strictyaml.Meant(k.Name, l.kinds()))
	}
}

// kindOf finds the kind a file is about, and makes it when it is new.
func (l *loader) kindOf(s *strictyaml.Document, root *strictyaml.Node) *Kind {
	name := ""
	if strictyaml.IsMap(root) {
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value == "kind" {
				name = s.Text(root.Content[i+1], "kind")
			}
		}
	}
	if name == "" {
		s.Errorf(root, "the file needs the key \"kind\"")
		return nil
	}
	if !goodName(name) {
		s.Errorf(root, "kind %q: a name is in lower case letters, digits and underscores", name)
		return nil
	}
	if l.cat.Kinds[name] == nil {
		l.cat.Kinds[name] = &Kind{Name: name, Links: map[string]Link{}, Facts: map[string]*Fact{}}
	}
	return l.cat.Kinds[name]
}

func (l *loader) kinds() []string { return slices.Sorted(maps.Keys(l.cat.Kinds)) }

func (l *loader) link(s *strictyaml.Document, k *Kind, key, value *strictyaml.Node) {
	var link Link
	s.Object(value, "a link", strictyaml.Fields{
		"to":  func(n *strictyaml.Node) { link.To = s.Text(n, "to") },
		"doc": func(n *strictyaml.Node) { link.Doc = s.Text(n, "doc") },
	}, "to", "doc")
	if _, twice := k.Links[key.Value]; twice {
		s.Errorf(key, "%s has the link %s already", k.Name, key.Value)
	}
	if !goodName(key.Value) {
		s.Errorf(key, "%q: a name is in lower case letters, digits and underscores", key.Value)
	}
	k.Links[key.Value] = link
	l.links = append(l.links, pending{link, at(s, value)})
}

func (l *loader) checkLinks() {
	for _, p := range l.links {
		if l.cat.Kinds[p.link.To] == nil && p.link.To != "" {
			p.at.Msg = fmt.Sprintf("there is no kind %q%s", p.link.To, strictyaml.Meant(p.link.To, l.kinds()))
			l.errors = append(l.errors, p.at)
		}
	}
}

// namePattern is what a rule can write after a dot.
var namePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// goodName reports whether a rule could name it: CEL keeps a few words for
// itself, and upper case would make two names of one.
func goodName(name string) bool {
	return namePattern.MatchString(name) && !slices.Contains([]string{"true", "false", "null", "in"}, name)
}

func (l *loader) fact(s *strictyaml.Document, k *Kind, key, value *strictyaml.Node, knob bool) {
	f := &Fact{Kind: k.Name, Name: key.Value, File: s.File, Line: key.Line}
	if !goodName(f.Name) {
		s.Errorf(key, "%q: a name is in lower case letters, digits and underscores; write it as %s and add shown: %q",
			f.Name, plainName(f.Name), f.Name)
	}
	if have := k.Facts[f.Name]; have != nil {
		s.Errorf(key, "%s has %s already, in %s:%d", k.Name, f.Name, have.File, have.Line)
		return
	}
	fields := strictyaml.Fields{
		"type":  func(n *strictyaml.Node) { f.Type = Type(s.OneOf(n, "type", typeNames()...)) },
		"doc":   func(n *strictyaml.Node) { f.Doc = s.Text(n, "doc") },
		"from":  func(n *strictyaml.Node) { f.From = s.Text(n, "from") },
		"shown": func(n *strictyaml.Node) { f.Shown = s.Text(n, "shown") },
		"load":  func(n *strictyaml.Node) { f.Load = s.Text(n, "load") },
		"idle":  func(n *strictyaml.Node) { f.Idle = s.OneOf(n, "idle", "absent") != "" },
		"over_time": func(n *strictyaml.Node) {
			word := s.OneOf(n, "over_time", string(stack.Counter), string(stack.Gauge), string(stack.State), string(stack.Average))
			f.OverTime = cmp.Or(stack.OverTime(word), stack.State)
		},
		"every": func(n *strictyaml.Node) { f.Every = paces[s.OneOf(n, "every", "1s", "10s", "60s")] },
		"counts_since": func(n *strictyaml.Node) {
			f.Since = s.Text(n, "counts_since")
			l.sinces = append(l.sinces, sinceOf{k, f.Since, at(s, n)})
		},
	}
	what := "a fact"
	if knob {
		what, f.Knob = "a knob", &Knob{}
		l.knobFields(s, f, fields)
	}
	s.Object(value, what, fields, "type", "doc")
	if f.Type == "" {
		f.Type = Text
	}
	checkOverTime(s, f, value)
	k.Facts[f.Name] = f
	if knob {
		l.checkKnob(s, f, value)
	}
}

func plainName(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9_]+`).ReplaceAllString(strings.ToLower(name), "_"), "_")
}

func typeNames() []string {
	var out []string
	for _, t := range []Type{Bool, Int, Float, Text, List, Bytes, Millis, Micros, Seconds, Percent, Ratio, Rate} {
		out = append(out, string(t))
	}
	return out
}
