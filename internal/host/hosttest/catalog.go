package hosttest

import (
	"io/fs"
	"testing"

	"plumb/internal/catalog"
	"plumb/knowledge"
)

// Catalog is the catalogue of what Plumb knows.
func Catalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	return loaded(t, catalog.Load)
}

// Windows is the catalogue of what a window of time can show.
func Windows(t testing.TB) *catalog.Catalog {
	t.Helper()
	return loaded(t, catalog.Windows)
}

func loaded(t testing.TB, load func(fs.FS) (*catalog.Catalog, error)) *catalog.Catalog {
	t.Helper()
	c, err := load(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
