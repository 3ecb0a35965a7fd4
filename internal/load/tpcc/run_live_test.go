package tpcc_test

import (
	"testing"
	"time"

	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/load/tpcc"
)

// runs does operations on small tables and checks that they stay consistent.
func runs(t *testing.T, s load.Server) {
	for _, compat := range []bool{false, true} {
		name := map[bool]string{false: "Specification", true: "Compat"}[compat]
		t.Run(name, func(t *testing.T) {
			c := tpcc.Roomy(tpcc.Config{Server: s, Warehouses: 2, Seed: 3, Run: 4, Sessions: 8, Compat: compat})
			_, err := tpcc.Prepare(t.Context(), c, fill.Options{})
			ok(t, err)
			w, err := tpcc.New(t.Context(), c)
			ok(t, err)
			res, err := load.Run(t.Context(), w, load.Options{Threads: 8, Events: 2000, Seed: 4, Retries: 100, Time: 30 * time.Second})
			ok(t, err)
			ok(t, res.Ended)
			for _, o := range res.Ops {
				t.Logf("%s: %d done, %d rolled back, %d skipped, %d failed, %d retried, %d statements", o.Name, o.Done, o.RolledBack, o.Skipped, o.Failed, o.Retried, o.Reads+o.Writes+o.Other)
			}
			t.Log(res.Notes, res.Errors, res.Total.Response.Summary())
			if n := res.Total.Done + res.Total.RolledBack + res.Total.Skipped; n != 2000 || res.Total.Failed > 0 {
				t.Errorf("%d operations succeeded, %d failed", n, res.Total.Failed)
			}
			r, err := tpcc.Check(t.Context(), c, tpcc.CheckOptions{})
			ok(t, err)
			for _, b := range r.Broken() {
				t.Errorf("condition %d, %s: %d, %q", b.Number, b.Rule, b.Violations, b.Examples)
			}
			_, err = tpcc.Cleanup(t.Context(), c)
			ok(t, err)
		})
	}
}
