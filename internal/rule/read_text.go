package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"plumb/internal/catalog"
	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// note puts mistakes in a text where they stand in the file.
func (d *reader) note(n *strictyaml.Node, wrong []problem) {
	for _, p := range wrong {
		line, col := d.doc.Place(n, p.offset)
		d.doc.At(line, col, "%s", p.msg)
	}
}

func (d *reader) expression(n *strictyaml.Node, what string, track bool) *expression {
	e, wrong := d.scope.compile(d.doc.Text(n, what), track)
	d.note(n, wrong)
	return e
}

// truth compiles an expression that yields true or false.
func (d *reader) truth(n *strictyaml.Node, what string) *expression {
	e := d.expression(n, what, true)
	if e != nil && !e.ast.OutputType().IsExactType(cel.BoolType) {
		d.doc.Errorf(n, "%s yields %s: want true or false", what, e.ast.OutputType())
		return nil
	}
	return e
}

func (d *reader) template(n *strictyaml.Node) *template {
	t, wrong := d.scope.template(d.doc.Text(n, "a text"))
	d.note(n, wrong)
	return t
}

// remedy reads one remedy.
func (d *reader) remedy(n *strictyaml.Node) *remedy {
	s, m := d.doc, &remedy{}
	var to *strictyaml.Node
	s.Object(n, "a remedy", strictyaml.Fields{
		"knob": func(n *strictyaml.Node) { d.knob(n, m) },
		"to":   func(n *strictyaml.Node) { to = n },
		"if":   func(n *strictyaml.Node) { m.cond = d.truth(n, "if") },
		"do":   func(n *strictyaml.Node) { m.do = d.template(n) },
		"note": func(n *strictyaml.Node) { m.note = d.template(n) },
	})
	switch {
	case m.do != nil && (m.knob != nil || to != nil):
		s.Errorf(n, "a remedy is either knob and to, or do; what else there is to say goes to note")
	case m.knob != nil && to == nil:
		s.Errorf(n, "a remedy with a knob needs the key \"to\"")
	case m.knob == nil && m.do == nil && m.name == "":
		s.Errorf(n, "a remedy needs the keys \"knob\" and \"to\", or \"do\"")
	case m.knob != nil:
		m.to = d.target(to, m)
	}
	return m
}

// knob reads db#sync_binlog.
func (d *reader) knob(n *strictyaml.Node, m *remedy) {
	text := d.doc.Text(n, "knob")
	name, knob, ok := strings.Cut(text, "#")
	m.name = name
	k := d.scope.kinds[name]
	switch {
	case !ok:
		d.doc.Errorf(n, "%q is not a knob: write variable#knob, such as db#sync_binlog", text)
		return
	case k == nil:
		d.doc.Errorf(n, "%s is not bound%s", name, strictyaml.Meant(name, slices.Sorted(maps.Keys(d.vars))))
		return
	}
	f := k.Facts[knob]
	switch {
	case f == nil:
		knobs := slices.Sorted(maps.Keys(d.compiler.cat.Knobs(k.Name)))
		d.doc.Errorf(n, "%s has no knob %s%s", k.Name, knob, strictyaml.Meant(knob, knobs))
		return
	case f.Knob == nil:
		d.doc.Errorf(n, "%s of %s can only be observed (%s:%d): a remedy needs a knob", knob, k.Name, f.File, f.Line)
		return
	}
	m.knob = f
}

// target compiles the value of a remedy and checks it against the knob.
func (d *reader) target(n *strictyaml.Node, m *remedy) *expression {
	e := d.expression(n, "to", false)
	if e == nil {
		return nil
	}
	got, want := e.ast.OutputType(), celType(m.knob.Type)
	if !got.IsExactType(want) && !(got.IsExactType(cel.IntType) && want.IsExactType(cel.DoubleType)) && !got.IsExactType(cel.DynType) {
		hint := ""
		if got.IsExactType(cel.DoubleType) {
			hint = ": round it with round(x), int(x) or roundUp(x, unit)"
		}
		if m.knob.Type == catalog.Text {
			hint = fmt.Sprintf(": write the text with its own quotes, to: '%q'", e.source)
		}
		d.doc.Errorf(n, "%s takes %s, this yields %s%s", m.knob.Name, m.knob.Type, got, hint)
		return nil
	}
	if len(e.uses) == 0 {
		v, err := e.value(nil)
		if err == nil {
			_, err = m.fit(v)
		}
		if err != nil {
			d.doc.Errorf(n, "%v", err)
		}
	}
	return e
}

// example reads one example.
func (d *reader) example(n *strictyaml.Node) {
	s := d.doc
	x := Example{line: n.Line, col: n.Column, things: things{}}
	for name, kind := range d.vars {
		x.things[name] = stack.NewThing(kind, name)
	}
	s.Object(n, "an example", strictyaml.Fields{
		"name": func(n *strictyaml.Node) { x.Name = s.Text(n, "name") },
		"want": func(n *strictyaml.Node) {
			x.Want = Outcome(s.OneOf(n, "want", string(Fires), string(Quiet), string(Unknown)))
		},
		"given": func(n *strictyaml.Node) {
			s.Entries(n, "given", func(key, value *strictyaml.Node) { d.given(x, key, value) })
		},
		"host":   func(n *strictyaml.Node) { d.facts(x.things[hostVar], n) },
		"absent": func(n *strictyaml.Node) { s.Items(n, "absent", func(c *strictyaml.Node) { d.absent(x, c) }) },
	}, "name", "want")
	for _, other := range d.rule.Examples {
		if other.Name == x.Name {
			s.Errorf(n, "example %s is listed twice, first in line %d", x.Name, other.line)
		}
	}
	d.rule.Examples = append(d.rule.Examples, x)
}

func (d *reader) given(x Example, key, value *strictyaml.Node) {
	t := x.things[key.Value]
	if t == nil {
		d.doc.Errorf(key, "%s is not bound%s", key.Value, strictyaml.Meant(key.Value, slices.Sorted(maps.Keys(d.vars))))
		return
	}
	d.facts(t, value)
}

// facts reads facts of one thing.
func (d *reader) facts(t *stack.Thing, n *strictyaml.Node) {
	d.doc.Entries(n, "facts of "+t.Ref.Name, func(key, value *strictyaml.Node) {
		f := d.factOf(t, key, key.Value)
		if f == nil {
			return
		}
		if strictyaml.IsList(value) && f.Type == catalog.List {
			t.Set(f.Name, stack.List(d.doc.Texts(value, f.Name)), "example")
			return
		}
		if value.Value == "" && f.Type == catalog.Text && !strictyaml.IsNull(value) {
			t.Set(f.Name, stack.Text(""), "example")
			return
		}
		text := d.doc.Text(value, f.Name)
		v, err := catalog.ParseValue(f, text)
		if err != nil {
			if text != "" {
				d.doc.Errorf(value, "%s: %v", f.Name, err)
			}
			return
		}
		t.Set(f.Name, v, "example")
	})
}

func (d *reader) absent(x Example, n *strictyaml.Node) {
	name, fact, ok := strings.Cut(d.doc.Text(n, "an absent fact"), ".")
	t := x.things[name]
	if !ok || t == nil {
		d.doc.Errorf(n, "an absent fact is written variable.fact, such as db.innodb_use_native_aio")
		return
	}
	if f := d.factOf(t, n, fact); f != nil {
		t.SetAbsent(f.Name, "example")
	}
}

func (d *reader) factOf(t *stack.Thing, at *strictyaml.Node, name string) *catalog.Fact {
	k := d.compiler.cat.Kinds[t.Ref.Kind]
	f := d.compiler.cat.Fact(t.Ref.Kind, name)
	if f == nil && k != nil {
		d.doc.Errorf(at, "%s", noFact(t.Ref.Name, k, name))
	}
	return f
}
