package hosttest

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/knowledge"
)

// Catalog is the catalogue of what Plumb knows.
func Catalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
