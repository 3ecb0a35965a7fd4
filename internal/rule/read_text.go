package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"plumb/internal/catalog"
	"plumb/internal/sheet"
	"plumb/internal/stack"
)

// note puts mistakes in a text where they stand in the file.
func (d *reader) note(n *sheet.Node, wrong []problem) {
	for _, p := range wrong {
		line, col := d.sheet.Place(n, p.offset)
		d.sheet.At(line, col, "%s", p.msg)
	}
}

func (d *reader) expression(n *sheet.Node, what string, track bool) *expression {
	e, wrong := d.scope.compile(d.sheet.Text(n, what), track)
	d.note(n, wrong)
	return e
}

// truth compiles an expression that yields true or false.
func (d *reader) truth(n *sheet.Node, what string) *expression {
	e := d.expression(n, what, true)
	if e != nil && !e.ast.OutputType().IsExactType(cel.BoolType) {
		d.sheet.Errorf(n, "%s yields %s: want true or false", what, e.ast.OutputType())
		return nil
	}
	return e
}

func (d *reader) template(n *sheet.Node) *template {
	t, wrong := d.scope.template(d.sheet.Text(n, "a text"))
	d.note(n, wrong)
	return t
}

// remedy reads one remedy.
func (d *reader) remedy(n *sheet.Node) *remedy {
	s, m := d.sheet, &remedy{}
	var to *sheet.Node
	s.Object(n, "a remedy", sheet.Fields{
		"knob": func(n *sheet.Node) { d.knob(n, m) },
		"to":   func(n *sheet.Node) { to = n },
		"if":   func(n *sheet.Node) { m.cond = d.truth(n, "if") },
		"do":   func(n *sheet.Node) { m.do = d.template(n) },
		"note": func(n *sheet.Node) { m.note = d.template(n) },
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
func (d *reader) knob(n *sheet.Node, m *remedy) {
	text := d.sheet.Text(n, "knob")
	name, knob, ok := strings.Cut(text, "#")
	m.name = name
	k := d.scope.kinds[name]
	switch {
	case !ok:
		d.sheet.Errorf(n, "%q is no knob: write variable#knob, such as db#sync_binlog", text)
		return
	case k == nil:
		d.sheet.Errorf(n, "%s is not bound%s", name, sheet.Meant(name, slices.Sorted(maps.Keys(d.vars))))
		return
	}
	f := k.Facts[knob]
	switch {
	case f == nil:
		knobs := slices.Sorted(maps.Keys(d.compiler.cat.Knobs(k.Name)))
		d.sheet.Errorf(n, "%s has no knob %s%s", k.Name, knob, sheet.Meant(knob, knobs))
		return
	case f.Knob == nil:
		d.sheet.Errorf(n, "%s of %s can only be observed (%s:%d): a remedy needs a knob", knob, k.Name, f.File, f.Line)
		return
	}
	m.knob = f
}

// target compiles the value of a remedy and checks it against the knob.
func (d *reader) target(n *sheet.Node, m *remedy) *expression {
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
		d.sheet.Errorf(n, "%s takes %s, this yields %s%s", m.knob.Name, m.knob.Type, got, hint)
		return nil
	}
	if len(e.uses) == 0 {
		v, err := e.value(nil)
		if err == nil {
			_, err = m.fit(v)
		}
		if err != nil {
			d.sheet.Errorf(n, "%v", err)
		}
	}
	return e
}

// example reads one example.
func (d *reader) example(n *sheet.Node) {
	s := d.sheet
	x := Example{line: n.Line, col: n.Column, things: things{}}
	for name, kind := range d.vars {
		x.things[name] = stack.NewThing(kind, name)
	}
	s.Object(n, "an example", sheet.Fields{
		"name": func(n *sheet.Node) { x.Name = s.Text(n, "name") },
		"want": func(n *sheet.Node) {
			x.Want = Outcome(s.OneOf(n, "want", string(Fires), string(Quiet), string(Unknown)))
		},
		"given":  func(n *sheet.Node) { s.Entries(n, "given", func(key, value *sheet.Node) { d.given(x, key, value) }) },
		"host":   func(n *sheet.Node) { d.facts(x.things[hostVar], n) },
		"absent": func(n *sheet.Node) { s.Items(n, "absent", func(c *sheet.Node) { d.absent(x, c) }) },
	}, "name", "want")
	for _, other := range d.rule.Examples {
		if other.Name == x.Name {
			s.Errorf(n, "example %s is there twice, first in line %d", x.Name, other.line)
		}
	}
	d.rule.Examples = append(d.rule.Examples, x)
}

func (d *reader) given(x Example, key, value *sheet.Node) {
	t := x.things[key.Value]
	if t == nil {
		d.sheet.Errorf(key, "%s is not bound%s", key.Value, sheet.Meant(key.Value, slices.Sorted(maps.Keys(d.vars))))
		return
	}
	d.facts(t, value)
}

// facts reads facts of one thing.
func (d *reader) facts(t *stack.Thing, n *sheet.Node) {
	d.sheet.Entries(n, "facts of "+t.Ref.Name, func(key, value *sheet.Node) {
		f := d.factOf(t, key, key.Value)
		if f == nil {
			return
		}
		if sheet.IsList(value) && f.Type == catalog.List {
			t.Set(f.Name, stack.List(d.sheet.Texts(value, f.Name)), "example")
			return
		}
		if value.Value == "" && f.Type == catalog.Text && !sheet.IsNull(value) {
			t.Set(f.Name, stack.Text(""), "example")
			return
		}
		text := d.sheet.Text(value, f.Name)
		v, err := catalog.ParseValue(f, text)
		if err != nil {
			if text != "" {
				d.sheet.Errorf(value, "%s: %v", f.Name, err)
			}
			return
		}
		t.Set(f.Name, v, "example")
	})
}

func (d *reader) absent(x Example, n *sheet.Node) {
	name, fact, ok := strings.Cut(d.sheet.Text(n, "an absent fact"), ".")
	t := x.things[name]
	if !ok || t == nil {
		d.sheet.Errorf(n, "an absent fact is written variable.fact, such as db.innodb_use_native_aio")
		return
	}
	if f := d.factOf(t, n, fact); f != nil {
		t.SetAbsent(f.Name, "example")
	}
}

func (d *reader) factOf(t *stack.Thing, at *sheet.Node, name string) *catalog.Fact {
	k := d.compiler.cat.Kinds[t.Ref.Kind]
	f := d.compiler.cat.Fact(t.Ref.Kind, name)
	if f == nil && k != nil {
		d.sheet.Errorf(at, "%s", noFact(t.Ref.Name, k, name))
	}
	return f
}
