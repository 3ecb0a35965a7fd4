package picture

import (
	"testing"

	"plumb/internal/host/hosttest"
)

// A word for a fact that no probe sets would never be said.
func TestMattersAreFacts(t *testing.T) {
	cat := hosttest.Catalog(t)
	said := 0
	for kind := range cat.Kinds {
		for _, m := range notableFacts(kind) {
			said++
			if cat.Fact(kind, m.fact) == nil {
				t.Errorf("%s has no fact %s", kind, m.fact)
			}
		}
	}
	if said == 0 {
		t.Error("nothing is said of anything")
	}
}
