package rule_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// conditions are the shapes conditions take; the property tests below hold
// for each, and for every example of the built-in rules.
var conditions = []string{
	"db.pool > 2048", "db.pool > 2048 && db.page > 1024", "db.pool > 2048 || db.page > 1024",
	"!(db.pool > 2048) && (db.sync || db.page > 1024)", "has(db.method) && db.pool > 2048",
	"!has(db.method) || db.sync", "db.sync ? db.pool > 2048 : db.page > 1024",
	`db.method == "direct" || db.pool > db.page`, `!(has(db.method) && db.pool > 2048) || db.sync`,
	`db.tables.exists(x, x == "a") && db.pool > 2048`, `version(db.version) > version("8") && !db.sync`,
}

// drawFacts gives a server some of its facts, some of them absent.
func drawFacts(t *rapid.T, db *stack.Thing) {
	options := map[string][]stack.Value{
		"pool": {stack.Int(1024), stack.Int(4096)}, "page": {stack.Int(512), stack.Int(2048)},
		"sync": {stack.Bool(true), stack.Bool(false)}, "method": {stack.Text("direct"), {}},
		"tables": {stack.List([]string{"a"}), stack.List(nil)}, "version": {stack.Text("5.7"), stack.Text("9.1"), {}},
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if rapid.Bool().Draw(t, name+" known") {
			db.Set(name, rapid.SampledFrom(options[name]).Draw(t, name), "test")
		}
	}
}

func TestMissingFactsNeverTurnAVerdict(t *testing.T) {
	var bases []*rule.Base
	for _, when := range conditions {
		bases = append(bases, loadOne(t, ruleText("db in server", "'"+when+"'", "")))
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(bases)-1).Draw(t, "condition")
		s := &stack.Stack{Things: []*stack.Thing{stack.NewThing("server", "a")}}
		drawFacts(t, s.Things[0])
		before := bases[i].Judge(s)[0].Outcome
		for _, name := range slices.Sorted(maps.Keys(s.Things[0].Facts)) {
			checkRemoval(t, conditions[i], before, s.Things[0], name, func() rule.Outcome { return bases[i].Judge(s)[0].Outcome })
		}
	})
}

type reporter interface{ Errorf(string, ...any) }

// checkRemoval takes one fact away and puts it back. Knowing less may make a
// verdict unknown; it may not turn fires into quiet or quiet into fires, and
// what was unknown stays so.
func checkRemoval(t reporter, what string, before rule.Outcome, thing *stack.Thing, name string, judge func() rule.Outcome) {
	had := thing.Facts[name]
	delete(thing.Facts, name)
	if after := judge(); after != before && after != rule.Unknown {
		t.Errorf("%s: without %s of %s the verdict turns from %s to %s", what, name, thing.Ref, before, after)
	}
	thing.Facts[name] = had
}

func TestUnrelatedFactsChangeNothing(t *testing.T) {
	base := loadOne(t, ruleText("db in server", "db.pool > 2048 && db.page > 1024", ""))
	rapid.Check(t, func(t *rapid.T) {
		s := &stack.Stack{Things: []*stack.Thing{stack.NewThing("server", "a")}}
		drawFacts(t, s.Things[0])
		before := base.Judge(s)[0].Outcome
		s.Things[0].Set("connections", stack.Int(rapid.Int64().Draw(t, "connections")), "test")
		s.Add("other", stack.Observation{Things: []*stack.Thing{stack.NewThing("volume", "v"), stack.NewThing("host", "h")}})
		if after := base.Judge(s)[0].Outcome; after != before {
			t.Errorf("the verdict turns from %s to %s", before, after)
		}
	})
}

// TestEmbeddedExamplesKeepTheirVerdict removes each fact of each example of
// the built-in rules, one after the other.
func TestEmbeddedExamplesKeepTheirVerdict(t *testing.T) {
	for _, r := range embedded(t).Rules() {
		for _, x := range r.Examples {
			for _, thing := range x.Things() {
				for name := range thing.Facts {
					checkRemoval(t, r.ID+" "+x.Name, r.Try(x).Outcome, thing, name, func() rule.Outcome { return r.Try(x).Outcome })
				}
			}
		}
	}
}

// embedded gives the built-in rules to tests that leave their examples as they are.
func embedded(t testing.TB) *rule.Base { return some(t, builtin()) }

// changeable gives the built-in rules to a test that changes their examples.
func changeable(t testing.TB) *rule.Base { return some(t, loadBuiltin()) }

var builtin = sync.OnceValue(loadBuiltin)

// loadBuiltin loads those that are sound; TestEmbedded reports the others.
func loadBuiltin() *rule.Base {
	cat, _ := catalog.Load(knowledge.FS)
	base, _ := rule.Load(knowledge.FS, cat)
	return base
}

func some(t testing.TB, base *rule.Base) *rule.Base {
	t.Helper()
	if base == nil {
		t.Fatal("no rules")
	}
	return base
}

func TestJudgeIsRepeatableAndConcurrent(t *testing.T) {
	base := loadOne(t, ruleText("db in server, v in db.data", "v.size > 1 && db.pool > 1", "remedy: [{knob: db#pool, to: 2 * db.pool}]"))
	s := &stack.Stack{}
	for _, name := range []string{"a", "b", "c"} {
		db := thing(s, "server", name, map[string]any{"pool": 4096})
		thing(s, "volume", name, map[string]any{"size": 2})
		db.Link("data", stack.Ref{Kind: "volume", Name: name})
	}
	want := outcomes(base.Judge(s))
	t.Run("group", func(t *testing.T) {
		for range 8 {
			t.Run("judge", func(t *testing.T) {
				t.Parallel()
				for range 50 {
					if got := outcomes(base.Judge(s)); got != want {
						t.Fatalf("got %s, want %s", got, want)
					}
				}
			})
		}
	})
}

func TestTestReportsEveryExample(t *testing.T) {
	bad := []byte(replace(sound, "v: {record: 16K}", "v: {record: 64K}"))
	got, err := rule.Test(fstest.MapFS{"x/r.yaml": {Data: bad}, "x/notes.txt": {Data: []byte("no rule")}}, smallCatalog(t))
	if err != nil || len(got) != 1 || len(got[0].Examples) != 3 || len(got[0].Mistakes) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	want := rule.TestedExample{Name: "two", Want: rule.Quiet, Got: rule.Fires, Line: 22}
	if got[0].Examples[1] != want || got[0].File != "x/r.yaml" || got[0].ID != "x/r" {
		t.Errorf("got %+v", got[0])
	}
}
