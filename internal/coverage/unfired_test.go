package coverage_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"plumb/internal/coverage"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/knowledge"
)

// TestSevereRulesHaveFired: a rule of danger or outage that has never fired on a
// real host rests on its author's belief. Each has, or testdata/unfired.txt says
// why no host at hand can make it.
func TestSevereRulesHaveFired(t *testing.T) {
	cat := hosttest.Catalog(t)
	base, err := rule.Load(knowledge.FS, cat)
	if err != nil {
		t.Fatal(err)
	}
	records, err := coverage.Read(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	why := reasons(t)
	severe, fired := 0, 0
	for _, r := range base.Rules() {
		reason, listed := why[r.ID]
		delete(why, r.ID)
		if !r.Severe() {
			if listed {
				t.Errorf("%s is listed and is no rule of danger or outage", r.ID)
			}
			continue
		}
		severe++
		switch has := slices.ContainsFunc(records[r.ID].Met, func(m coverage.Meeting) bool { return m.Says == rule.Fires }); {
		case has && listed:
			t.Errorf("%s has fired on a real host: take it off the list", r.ID)
		case !has && reason == "":
			t.Errorf("%s has fired on no real host: let it fire on one (test/real, test/real/vm), or say in testdata/unfired.txt why none can", r.ID)
		case has:
			fired++
		}
	}
	for id := range why {
		t.Errorf("%s is listed, and there is no such rule", id)
	}
	if fired < 80 {
		t.Errorf("only %d of %d severe rules have fired", fired, severe)
	}
	t.Logf("%d of %d severe rules have fired on real hosts", fired, severe)
}

// reasons reads the list: a rule and a sentence a line.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/unfired.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if id, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(id, "#") {
			list[id] = why
		}
	}
	return list
}
