package advise

import (
	"os"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// The plan in testdata/v1 is what check --plan wrote on 2026-11-23 (3baf977).
func TestReadsWhatEarlierPlumbsWrote(t *testing.T) {
	text, err := os.ReadFile("testdata/v1/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadPlan(text)
	if err != nil || p.Host != "vm" || p.TakenAt.IsZero() || len(p.Steps) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	s := p.Steps[0]
	if s.Knob.String() != "dataset:db1/data#recordsize" || s.From.String() != "131072" || s.To.String() != "16384" || s.Effect != "new-writes" || len(s.Why) != 1 || s.DurabilityTo != "safe" {
		t.Errorf("%+v", s)
	}
	later := strings.Replace(string(text), `"plumb": 1`, `"plumb": 2`, 1)
	later = strings.Replace(later, `"steps": [`, `"steps": {}, "order": [`, 1)
	if _, err := ReadPlan([]byte(later)); err == nil || !strings.Contains(err.Error(), "a plan of version 2") || !strings.Contains(hint.Of(err), "newer plumb") {
		t.Errorf("a plan of a newer form: %v", err)
	}
}
