package hosttest

import (
	"sync"
	"testing"

	"plumb/internal/catalog"
	"plumb/knowledge"
)

var (
	known   = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load(knowledge.FS) })
	windows = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Windows(knowledge.FS) })
)

// Catalog is the catalogue of what Plumb knows. All tests of a package have one, which nobody changes.
func Catalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	return loaded(t, known)
}

// Windows is the catalogue of what a window of time can show, likewise.
func Windows(t testing.TB) *catalog.Catalog {
	t.Helper()
	return loaded(t, windows)
}

func loaded(t testing.TB, load func() (*catalog.Catalog, error)) *catalog.Catalog {
	t.Helper()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
