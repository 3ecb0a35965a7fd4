package main

import (
	"math"
	"slices"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

// TestChances: what is drawn can be carried out, is as durable as the default,
// and leaves Plumb's own advice within reach.
func TestChances(t *testing.T) {
	cat := hosttest.Catalog(t)
	ours, err := readPlumb()
	ok(t, err)
	for _, c := range cells() {
		knobs := cat.Knobs(map[string]string{"mariadb": "mysql", "postgres": "postgres"}[c.engine.name])
		plumb := arm{names: []string{byPlumb}, settings: ours.of(c)}
		x, err := experiment.Parse("search.yaml", searched(c, "search", plumb, chances(c.engine), 1))
		ok(t, err)
		if len(x.Arms) != drawn+1 || len(x.Pairs) != drawn || x.Most != 1 {
			t.Errorf("%s: %d arms, %d pairs, %d blocks", c.name(), len(x.Arms), len(x.Pairs), x.Most)
		}
		for _, a := range x.Arms {
			for name, value := range a.Setup.Server.Settings {
				if f := knobs[name]; f == nil || f.Durability(stack.Text(value)) != catalog.Safe {
					t.Errorf("%s: %s sets %s = %s", c.name(), a.Name, name, value)
				}
			}
		}
		for name := range plumb.settings {
			if !slices.ContainsFunc(dials(c.engine), func(d dial) bool { return d.Name == name }) {
				t.Errorf("%s: Plumb sets %s, and chance does not", c.name(), name)
			}
		}
	}
}

func TestChancesDiffer(t *testing.T) {
	for _, e := range engines() {
		all := chances(e)
		for i, a := range all {
			if slices.ContainsFunc(all[:i], func(o arm) bool { return o.equal(arm{names: o.names, settings: a.settings}) }) {
				t.Errorf("%s: %s is drawn twice", e.name, a.name())
			}
		}
	}
}

// TestFastest: by what was measured, without what was not.
func TestFastest(t *testing.T) {
	all := []arm{{names: []string{"a"}}, {names: []string{"b"}}, {names: []string{"c"}}, {names: []string{"d"}}, {names: []string{"e"}}}
	trial := func(name string, v float64) experiment.Record {
		return experiment.Record{Trial: experiment.Trial{Arm: name}, Metric: v}
	}
	spoilt := trial("e", 900)
	spoilt.Mark(experiment.MarkFailed, "it did not start")
	got := fastest(all, []experiment.Record{trial("a", 10), trial("b", 30), trial("c", 20), trial("plumb", 99), spoilt, trial("d", math.SmallestNonzeroFloat64)})
	var names []string
	for _, a := range got {
		names = append(names, a.name())
	}
	if want := []string{"b", "c", "a"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
