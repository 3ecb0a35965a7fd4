package tpcc_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/fill"
	"plumb/internal/load/tpcc"
)

// runs does operations on small tables and checks that they stay consistent,
// and that what was acknowledged is there.
func runs(t *testing.T, s load.Server) {
	for name, c := range map[string]tpcc.Config{
		"Specification": {ForeignKeys: true},
		"Compat":        {Compat: true, ForeignKeys: true},
		"Purge":         {Compat: true, Purge: true, Sets: 2},
	} {
		t.Run(name, func(t *testing.T) {
			events := int64(2000)
			if c.Compat {
				events = 600
			}
			c.Server, c.Warehouses, c.Seed, c.Run, c.Sessions = s, 2, 3, 4, 8
			c = tpcc.Roomy(c)
			_, err := tpcc.Prepare(t.Context(), c, fill.Options{})
			ok(t, err)
			c.Ledger = book(t, s)
			w, err := tpcc.New(t.Context(), c)
			ok(t, err)
			res, err := load.Run(t.Context(), w, load.Options{Threads: c.Sessions, Events: events, Seed: c.Run, Retries: 100, Time: 30 * time.Second})
			ok(t, err)
			ok(t, res.Ended)
			if n := res.Total.Done + res.Total.RolledBack + res.Total.Skipped; n != events || res.Total.Failed > 0 {
				t.Errorf("%d operations succeeded, %d failed: %+v", n, res.Total.Failed, res.Errors)
			}
			if n := res.Total.Retried; n > events/10 {
				t.Errorf("%d operations were tried again: %+v", n, res.Errors)
			}
			kept(t, c, res)
			r, err := tpcc.Check(t.Context(), c, tpcc.CheckOptions{})
			ok(t, err)
			for _, b := range r.Broken() {
				t.Errorf("condition %d, %s: %d, %q", b.Number, b.Rule, b.Violations, b.Examples)
			}
			otherTables(t, c)
			_, err = tpcc.Cleanup(t.Context(), c)
			ok(t, err)
		})
	}
}

func book(t *testing.T, s load.Server) *durability.Ledger {
	t.Helper()
	ok(t, admin(t, s).Exec(t.Context(), durability.CreateTable(s.Engine())))
	b, err := durability.Create(filepath.Join(t.TempDir(), "book"), durability.Header{Workload: "tpcc"})
	ok(t, err)
	return b
}

// kept compares the ledger with its table.
func kept(t *testing.T, c tpcc.Config, res *load.Result) {
	t.Helper()
	ok(t, c.Ledger.Close())
	v, err := durability.Verify(t.Context(), admin(t, c.Server), c.Ledger.Path())
	ok(t, err)
	wrote := int64(0)
	for _, o := range res.Ops {
		if o.Name != "order_status" && o.Name != "stock_level" {
			wrote += o.Done
		}
	}
	if v.Acknowledged != wrote || v.Lost != 0 || v.Extra != 0 {
		t.Errorf("%d transactions wrote; the ledger: %+v", wrote, v)
	}
}

// otherTables asks for what is not there.
func otherTables(t *testing.T, c tpcc.Config) {
	t.Helper()
	c.Warehouses = 3
	_, err := tpcc.New(t.Context(), c)
	refused(t, err, "ask for the same")
	if want := "scale 2, but you asked for 3"; err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}
