package catalog_test

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/knowledge"
)

// TestEmbedded loads what is built in and lists every mistake.
func TestEmbedded(t *testing.T) {
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Errorf("knowledge:\n%v", err)
	}
	for _, k := range cat.Kinds {
		t.Logf("%s: %d facts, %d of them knobs", k.Name, len(k.Facts), len(cat.Knobs(k.Name)))
	}
}
