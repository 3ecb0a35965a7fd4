package rule_test

import (
	"slices"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/knowledge"
)

// TestOpen judges every built-in example by the rules as a check opens them:
// in parts, compiled when needed.
func TestOpen(t *testing.T) {
	cat := hosttest.Catalog(t)
	opened, err := rule.Open(knowledge.FS, cat)
	if err != nil {
		t.Fatal(err)
	}
	loaded := embedded(t).Rules()
	if len(opened.Rules()) != len(loaded) {
		t.Fatalf("%d rules opened, %d loaded", len(opened.Rules()), len(loaded))
	}
	for _, r := range loaded {
		o := opened.Rule(r.ID)
		for _, x := range r.Examples {
			a, b := r.Try(x), o.Try(x)
			if a.Outcome != b.Outcome || a.Title != b.Title || a.Say != b.Say || b.Err != nil || len(a.Remedies) != len(b.Remedies) {
				t.Errorf("%s, %s: loaded %s %q, opened %s %q (%v)", r.ID, x.Name, a.Outcome, a.Title, b.Outcome, b.Title, b.Err)
			}
		}
		if !slices.Equal(o.Kinds(), r.Kinds()) || !slices.Equal(o.Sources, r.Sources) || o.Harm != r.Harm {
			t.Errorf("%s differs when opened", r.ID)
		}
	}
}

// TestRead reads every rule as explain does, with facts and no knobs.
func TestRead(t *testing.T) {
	part, err := catalog.LoadPart(knowledge.FS, func([]byte) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range embedded(t).Rules() {
		got, err := rule.Read(knowledge.FS, part, r.ID)
		if err != nil {
			t.Error(err)
			continue
		}
		if got.Explain != r.Explain || !slices.Equal(got.Written(), r.Written()) || len(got.For) != len(r.For) {
			t.Errorf("%s differs when read alone", r.ID)
		}
	}
}
