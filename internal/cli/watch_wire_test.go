package cli

import (
	"strings"
	"testing"

	"plumb/internal/engine/dsn"
	"plumb/internal/engine/samplertest"
	"plumb/internal/product"
)

// A watch reads the counters of each database of a PostgreSQL only when it is told to.
func TestDatabasesAreReadOnDemand(t *testing.T) {
	s, _ := samplertest.LoggedIn(product.Postgres, "5432")
	for _, want := range []bool{false, true} {
		sources, got := 0, false
		for _, f := range finders(dsn.Given{}, want) {
			for _, source := range f.Sources(s) {
				sources++
				got = got || strings.HasSuffix(source.Name(), " databases")
			}
		}
		if sources == 0 || got != want {
			t.Errorf("of %d sources one reads databases: %v, want %v", sources, got, want)
		}
	}
}
