package rule

import (
	"slices"

	"plumb/internal/strictyaml"
)

// compile makes the limit ready to judge, for each kind of server, and tries its
// examples.
func (d *limitReader) compile(c *compiler) {
	readers := map[string]*reader{}
	for _, kind := range d.limit.Servers {
		if c.cat.Kinds[kind] == nil {
			d.doc.Errorf(d.root, "there is no kind %s", kind)
			continue
		}
		if d.when[kind] == nil {
			d.doc.Errorf(d.root, "when says nothing of %s", kind)
			continue
		}
		k, r := d.of(c, kind)
		if k != nil {
			d.limit.kinds = append(d.limit.kinds, k)
			readers[kind] = r
		}
	}
	if len(d.doc.Errors()) > 0 {
		return
	}
	var seen []Outcome
	for _, n := range d.examples {
		seen = append(seen, d.example(n, readers)...)
	}
	for _, want := range []Outcome{Fires, Quiet, Unknown} {
		if !slices.Contains(seen, want) {
			d.doc.Errorf(d.root, "no example wants %s: there must be one at least of fires, quiet and unknown", want)
		}
	}
	for _, kind := range d.limit.Servers {
		readers[kind].tryExamples()
	}
	for i, a := range d.against {
		if !slices.ContainsFunc(d.limit.kinds, func(k *limitOf) bool { return k.shows(i) }) {
			d.doc.Errorf(a.says, "no example that fires has this speak against it: perhaps it never can")
		}
	}
}

// shows tells whether the examples have an objection speak against the limit while it fires.
func (k *limitOf) shows(nth int) bool {
	for _, o := range k.objections {
		holds := func(x Example) bool { is, _, _ := o.when.holds(x.things); return x.Want == Fires && is == Fires }
		if o.nth == nth && slices.ContainsFunc(k.Examples, holds) {
			return true
		}
	}
	return false
}

// of compiles the limit of one kind of server.
func (d *limitReader) of(c *compiler, kind string) (*limitOf, *reader) {
	k := &limitOf{Rule: Rule{ID: d.limit.ID, File: d.limit.File, cat: c.cat, For: []Binding{{Var: Server, Kind: kind}}}}
	r := &reader{doc: d.doc, compiler: c, rule: &k.Rule, root: d.root, vars: map[string]string{hostVar: "host", Server: kind}, when: d.when[kind], title: d.title, say: d.say[kind]}
	if n := d.bindings[kind]; n != nil {
		r.bindings(n)
	}
	if r.unbound {
		return nil, nil
	}
	r.condition()
	r.texts()
	if r.scope == nil || k.when == nil {
		return nil, nil
	}
	for i, a := range d.against {
		if n := a.when[kind]; n != nil {
			k.objections = append(k.objections, objection{r.template(a.says), r.truth(n, "when"), i})
		}
	}
	if n := d.share[kind]; n != nil {
		k.share = r.expression(n, "share", false)
	}
	for _, n := range d.do {
		k.do = append(k.do, r.template(n))
	}
	return k, r
}

// example reads one example, which is of the kind of server that its key "of"
// names, or of the first.
func (d *limitReader) example(n *strictyaml.Node, readers map[string]*reader) []Outcome {
	kind := d.limit.Servers[0]
	plain := *n
	plain.Content = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "of" {
			kind = d.doc.OneOf(n.Content[i+1], "of", d.limit.Servers...)
			continue
		}
		plain.Content = append(plain.Content, n.Content[i], n.Content[i+1])
	}
	r := readers[kind]
	if r == nil {
		return nil
	}
	before := len(r.rule.Examples)
	r.example(&plain)
	var out []Outcome
	for _, x := range r.rule.Examples[before:] {
		out = append(out, x.Want)
	}
	return out
}
