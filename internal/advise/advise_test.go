package advise

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

var (
	db   = stack.Ref{Kind: "mysql", Name: "3306"}
	pg   = stack.Ref{Kind: "postgres", Name: "5432"}
	host = stack.Ref{Kind: "host", Name: "h"}
)

func testCatalog() *catalog.Catalog {
	knob := func(kind, name string, t catalog.Type, effect catalog.Effect, classes map[string]string) *catalog.Fact {
		return &catalog.Fact{Kind: kind, Name: name, Type: t, Knob: &catalog.Knob{Effect: effect, Durability: classes}}
	}
	return &catalog.Catalog{Kinds: map[string]*catalog.Kind{
		"mysql": {Name: "mysql", Facts: map[string]*catalog.Fact{
			"sync_binlog": knob("mysql", "sync_binlog", catalog.Int, catalog.Now, map[string]string{"0": catalog.MayLose}),
			"buffer":      knob("mysql", "buffer", catalog.Bytes, catalog.Restart, nil),
		}},
		"postgres": {Name: "postgres", Facts: map[string]*catalog.Fact{
			"workers": knob("postgres", "workers", catalog.Int, catalog.Reload, nil),
		}},
		"host": {Name: "host", Facts: map[string]*catalog.Fact{
			"overcommit": knob("host", "overcommit", catalog.Int, catalog.Now, nil),
		}},
	}}
}

func testStack() *stack.Stack {
	var see stack.Observation
	see.New("host", "h").Set("overcommit", stack.Int(0), "test")
	my := see.New("mysql", "3306")
	my.Set("sync_binlog", stack.Int(1), "test")
	my.Set("buffer", stack.Int(1<<30), "test")
	var s stack.Stack
	s.Add("test", see)
	return &s
}

func fires(id string, harm rule.Harm, things []stack.Ref, to ...rule.Remedy) rule.Evaluation {
	return rule.Evaluation{Rule: &rule.Rule{ID: id, Harm: harm, Gain: rule.Medium}, Outcome: rule.Fires, Things: things, Title: id, Remedies: to}
}

func want(of stack.Ref, name string, n int64) rule.Remedy {
	return rule.Remedy{Knob: stack.Knob{Of: of, Name: name}, To: stack.Int(n)}
}

func from(v ...rule.Evaluation) Advice { return From(v, testStack(), testCatalog(), Options{}) }

func TestConflictsAreSettledWithAReason(t *testing.T) {
	one, two := []stack.Ref{db}, []stack.Ref{db, pg}
	for _, c := range []struct {
		name   string
		a, b   rule.Evaluation
		kept   int64
		reason string
	}{
		{"outage_before_speed", fires("a", rule.Slow, two, want(host, "overcommit", 1)), fires("b", rule.Outage, one, want(host, "overcommit", 2)), 2, "lost service"},
		{"danger_before_outage", fires("a", rule.Outage, two, want(host, "overcommit", 1)), fires("b", rule.Danger, one, want(host, "overcommit", 2)), 2, "lost data"},
		{"more_specific", fires("a", rule.Note, two, want(db, "buffer", 9<<30)), fires("b", rule.Slow, one, want(db, "buffer", 2<<30)), 9 << 30, "more parts"},
		{"smaller_change", fires("a", rule.Slow, one, want(db, "buffer", 9<<30)), fires("b", rule.Slow, one, want(db, "buffer", 2<<30)), 2 << 30, "smaller change"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := from(c.a, c.b)
			if len(a.Conflicts) != 1 || len(a.Plan.Steps) != 1 {
				t.Fatalf("%d conflicts, %d steps; want 1 and 1", len(a.Conflicts), len(a.Plan.Steps))
			}
			if got, _ := a.Conflicts[0].Kept.Int(); got != c.kept || !strings.Contains(a.Conflicts[0].Reason, c.reason) {
				t.Errorf("kept %d because %q; want %d because … %s …", got, a.Conflicts[0].Reason, c.kept, c.reason)
			}
			if !a.Plan.Steps[0].To.Equal(a.Conflicts[0].Kept) {
				t.Error("the plan has the value that lost")
			}
		})
	}
}

func TestLessDurableIsWithheld(t *testing.T) {
	v := fires("a", rule.Slow, []stack.Ref{db}, want(db, "sync_binlog", 0))
	a := from(v)
	if len(a.Plan.Steps) != 0 || !strings.Contains(a.Findings[0].Cases[0].Remedies[0].Withheld, "--allow-unsafe") {
		t.Errorf("a less durable value is in the plan: %+v", a)
	}
	a = From([]rule.Evaluation{v}, testStack(), testCatalog(), Options{AllowUnsafe: true})
	if len(a.Plan.Steps) != 1 || a.Plan.Steps[0].DurabilityTo != catalog.MayLose {
		t.Errorf("--allow-unsafe does not allow: %+v", a.Plan)
	}
}

// TestCommandLinesOverrideFiles: advice to write a setting into a file, and to reload, would have no effect.
func TestCommandLinesOverrideFiles(t *testing.T) {
	for origin, want := range map[string]Step{
		stack.FromFile:    {Effect: catalog.Reload, Note: "as many as disks"},
		stack.FromCommand: {Effect: catalog.Restart, Note: "it is on the server's command line, which overrides every file: change it there; as many as disks"},
	} {
		var see stack.Observation
		see.New(pg.Kind, pg.Name).Setting("workers", stack.Int(1), "test", stack.Origin{From: origin})
		var s stack.Stack
		s.Add("test", see)
		v := fires("a", rule.Slow, []stack.Ref{pg}, rule.Remedy{Knob: stack.Knob{Of: pg, Name: "workers"}, To: stack.Int(4), Note: "as many as disks"})
		a := From([]rule.Evaluation{v}, &s, testCatalog(), Options{})
		if len(a.Plan.Steps) != 1 || a.Plan.Steps[0].Effect != want.Effect || a.Plan.Steps[0].Note != want.Note {
			t.Errorf("%s: the plan is %+v", origin, a.Plan.Steps)
		}
	}
}

func TestOneRuleOnManyThingsIsOneFinding(t *testing.T) {
	var vs []rule.Evaluation
	for i := range 100 {
		vs = append(vs, fires("zfs/x", rule.Slow, []stack.Ref{{Kind: "dataset", Name: fmt.Sprintf("tank/%03d", i)}}))
	}
	a := from(vs...)
	if len(a.Findings) != 1 || len(a.Findings[0].Cases) != 100 {
		t.Errorf("%d findings; want one with 100 cases", len(a.Findings))
	}
}

func TestRulesThatAskForTheSameAreOneFinding(t *testing.T) {
	a := from(fires("b", rule.Slow, []stack.Ref{db}, want(db, "buffer", 9<<30)), fires("a", rule.Outage, []stack.Ref{db}, want(db, "buffer", 9<<30)),
		fires("c", rule.Slow, []stack.Ref{db}, rule.Remedy{Do: "think"}))
	if len(a.Findings) != 2 || a.Findings[0].Rule.ID != "a" || a.Findings[0].Cases[0].Also[0].Rule != "b" {
		t.Fatalf("findings %+v; want a with b in it, and c", a.Findings)
	}
	if diff := cmp.Diff([]string{"a", "b"}, a.Plan.Steps[0].Why); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownsAreGroupedByReason(t *testing.T) {
	miss := func(id, name, why string) rule.Evaluation {
		return rule.Evaluation{Rule: &rule.Rule{ID: id}, Outcome: rule.Unknown, Missing: []rule.Missing{{Of: db, Name: name, Why: why, Hint: "log in"}}}
	}
	a := from(miss("a", "x", "no login"), miss("b", "y", "no login"), miss("c", "z", "other"), miss("a", "x", "no login"))
	want := []Unknown{
		{Why: "no login", Hint: "log in", Needs: []string{"mysql:3306#x", "mysql:3306#y"}, Rules: []string{"a", "b"}},
		{Why: "other", Hint: "log in", Needs: []string{"mysql:3306#z"}, Rules: []string{"c"}},
	}
	if diff := cmp.Diff(want, a.Unknown); diff != "" {
		t.Error(diff)
	}
}

// anyVerdicts draws verdicts of a handful of rules on a handful of knobs.
func anyVerdicts(t *rapid.T) []rule.Evaluation {
	knobs := []rule.Remedy{want(host, "overcommit", 0), want(db, "sync_binlog", 0), want(db, "buffer", 0)}
	var vs []rule.Evaluation
	for i := range rapid.IntRange(0, 12).Draw(t, "n") {
		harm := rapid.SampledFrom(Harms()).Draw(t, "harm")
		r := rapid.SampledFrom(knobs).Draw(t, "knob")
		r.To = stack.Int(rapid.Int64Range(0, 4).Draw(t, "to"))
		things := []stack.Ref{db, pg}[:rapid.IntRange(1, 2).Draw(t, "things")]
		v := fires(fmt.Sprintf("%s/%d", harm, i%4), harm, things, r)
		v.Say = fmt.Sprint(i)
		vs = append(vs, v)
	}
	return vs
}

func TestOrderOfVerdictsMakesNoDifference(t *testing.T) {
	same := []cmp.Option{cmpopts.IgnoreUnexported(rule.Rule{}, rule.Example{}), cmp.Comparer(stack.Value.Equal)}
	rapid.Check(t, func(t *rapid.T) {
		vs := anyVerdicts(t)
		want := from(vs...)
		shuffled := slices.Clone(vs)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)).Shuffle(len(vs), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(want, from(shuffled...), same...); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPlanHasOneSafeValueForEachKnob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := from(anyVerdicts(t)...)
		seen := map[stack.Knob]bool{}
		for _, s := range a.Plan.Steps {
			if seen[s.Knob] {
				t.Fatalf("%s is set twice", s.Knob)
			}
			seen[s.Knob] = true
			if catalog.Danger(s.DurabilityTo) > catalog.Danger(s.DurabilityFrom) {
				t.Fatalf("%s becomes less durable", s.Knob)
			}
		}
		for i := 1; i < len(a.Findings); i++ {
			if harmRank(a.Findings[i-1].Rule.Harm) > harmRank(a.Findings[i].Rule.Harm) {
				t.Fatal("a worse finding comes later")
			}
		}
	})
}

func TestPlanSurvivesJSON(t *testing.T) {
	p := from(fires("a", rule.Slow, []stack.Ref{db}, want(db, "buffer", 2<<30))).Plan
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadPlan(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got, cmp.Comparer(stack.Value.Equal)); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadPlan([]byte(`{"kind":"check","plumb":1}`)); err == nil {
		t.Error("a file of another kind was read as a plan")
	}
}
