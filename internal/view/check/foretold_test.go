package check

import (
	"encoding/json"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

func TestForetoldIsSaid(t *testing.T) {
	r := check.Report{Stack: &stack.Stack{}}
	r.Advice.Foretold = []advise.Foretold{{
		Server: stack.Ref{Kind: "postgres", Name: "5432"}, Restart: true, About: []string{"WAL", "checkpoints", "commits"},
		Rules: []string{"a/one", "a/two", "a/three", "a/four", "a/five", "a/six"},
	}}
	r.Advice.Plan.Steps = []advise.Step{{}}
	text := Text(r, Options{}, page.Screen{Width: 200})
	for _, want := range []string{
		"NEXT: check again under load, after following this advice",
		"postgres:5432: a restart sets its counters back to zero; under load Plumb can then judge WAL",
		"a/one, a/two, a/three, a/four and 2 other rules (--all)",
		"plumb explain a/one",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if all := Text(r, Options{All: true}, page.Screen{Width: 200}); !strings.Contains(all, "a/five, a/six") {
		t.Errorf("--all does not name all rules:\n%s", all)
	}
	r.Advice.Plan.Steps = nil
	r.Advice.Foretold[0].Restart, r.Advice.Foretold[0].Idle = false, true
	if idle := Text(r, Options{}, page.Screen{Width: 200}); !strings.Contains(idle, "NEXT: check again under load\n") || !strings.Contains(idle, "almost idle now") {
		t.Errorf("of an idle server:\n%s", idle)
	}
	if b, err := page.JSON(Document(r)); err != nil || !strings.Contains(string(b), `"idle": true`) {
		t.Errorf("of an idle server: %v\n%s", err, b)
	}
	r.Advice.Foretold[0].Idle, r.Advice.Foretold[0].Young = false, true
	if young := Text(r, Options{}, page.Screen{Width: 200}); strings.Contains(young, "idle") || !strings.Contains(young, "it started less than a minute ago; after some load") {
		t.Errorf("of a server that has just started:\n%s", young)
	}
	var see stack.Observation
	see.New("postgres", "5432")
	healthy := r
	healthy.Stack = &stack.Stack{}
	healthy.Stack.Add("test", see)
	if text := Text(healthy, Options{}, page.Screen{Width: 200}); !strings.Contains(text, "Nothing is out of line") || !strings.Contains(text, "NEXT: check again") {
		t.Errorf("of a healthy host:\n%s", text)
	}
	b, err := page.JSON(Document(r))
	var doc struct {
		CheckAgain []CheckAgainJSON `json:"check_again"`
	}
	if err != nil || json.Unmarshal(b, &doc) != nil || len(doc.CheckAgain) != 1 || len(doc.CheckAgain[0].Rules) != 6 || doc.CheckAgain[0].Idle || !doc.CheckAgain[0].Young {
		t.Errorf("JSON has %+v, %v", doc, err)
	}
}
