package rule_test

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/knowledge"
)

// TestEmbedded loads everything that is built in and lists every mistake of
// every file.
func TestEmbedded(t *testing.T) {
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Errorf("facts and knobs:\n%v", err)
	}
	base, err := rule.Load(knowledge.FS, cat)
	if err != nil {
		t.Errorf("rules:\n%v", err)
	}
	across := 0
	for _, r := range base.Rules() {
		if len(r.Layers()) > 1 {
			across++
		}
	}
	t.Logf("%d rules, %d of them across layers", len(base.Rules()), across)
}
