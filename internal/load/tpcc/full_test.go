package tpcc_test

import (
	"os"
	"testing"

	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/load/tpcc"
	"plumb/test/sandbox"
)

// TestFullSize loads and checks two warehouses of full size in both modes.
func TestFullSize(t *testing.T) {
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("takes a minute: make test-real runs it")
	}
	for name, start := range map[string]func(*testing.T, *sandbox.Box) load.Server{"mariadb": mariadb, "postgres": postgres} {
		t.Run(name, func(t *testing.T) {
			b := sandbox.ForTest(t, "")
			s := start(t, b)
			for _, compat := range []bool{false, true} {
				c := tpcc.Config{Server: s, Warehouses: 2, Seed: 1, Compat: compat, ForeignKeys: compat}
				r, err := tpcc.Prepare(t.Context(), c, fill.Options{Verify: fill.Content})
				ok(t, err)
				t.Logf("compat %t: %d rows, %d MB, filled in %s, all in %s", compat, r.Rows, r.Bytes>>20, r.Filled, r.Elapsed)
				numbers, found := broken(t, c)
				if numbers != nil {
					t.Errorf("compat %t: %+v", compat, found.Broken())
				}
				for _, c := range found.Conditions {
					t.Logf("condition %d: %s", c.Number, c.Took)
				}
				t.Logf("all in %s", found.Elapsed)
				_, err = tpcc.Cleanup(t.Context(), c)
				ok(t, err)
			}
		})
	}
}
