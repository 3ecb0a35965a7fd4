package private_test

import (
	"fmt"
	"testing"

	"plumb/internal/engine/postgres/private"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/test/sandbox"
	"plumb/test/sandbox/labbox"
)

// begun starts a private server.
func begun(t *testing.T, s experiment.Server) (*labbox.Server, lab.Engine, load.Admin) {
	t.Helper()
	b, err := sandbox.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	e := private.New()
	p, err := labbox.Start(t.Context(), b, "server", e, s, true)
	sandbox.Need(t, err)
	a, err := p.Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return p, e, a
}

// asAsked fails for every setting that is not in force.
func asAsked(t *testing.T, e lab.Engine, a load.Admin, s experiment.Server) map[string]string {
	t.Helper()
	effective, err := e.Effective(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []map[string]string{s.Create, s.Settings} {
		for name, asked := range from {
			if have, known := e.Lookup(effective, name); !known || !e.Same(name, asked, have) {
				t.Errorf("%s is %q (known: %t), asked %q", name, have, known, asked)
			}
		}
	}
	return effective
}

// write gives the server something to write, and tells how its counters grew.
func write(t *testing.T, e lab.Engine, a load.Admin) map[string]float64 {
	t.Helper()
	ctx := t.Context()
	if err := a.Exec(ctx, "CREATE TABLE t (id SERIAL PRIMARY KEY, b TEXT)"); err != nil {
		t.Fatal(err)
	}
	before, err := e.Counters(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := a.Exec(ctx, "INSERT INTO t (b) VALUES (REPEAT('x', 1000))"); err != nil {
			t.Fatal(err)
		}
	}
	after, err := e.Counters(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	grown := map[string]float64{}
	for name := range after {
		grown[name] = after[name] - before[name]
	}
	return grown
}

func TestPrivateServers(t *testing.T) {
	settings := map[string]string{"shared_buffers": "256MB", "checkpoint_completion_target": "0.90", "wal_compression": "on", "fsync": "off",
		"full_page_writes": "0", "checkpoint_timeout": "15min", "work_mem": "65536", "random_page_cost": "1.1", "wal_buffers": "-1",
		"autovacuum_vacuum_cost_delay": "2", "bgwriter_delay": "0.2s", "synchronous_commit": "OFF", "max_wal_size": "4GB"}
	for _, s := range []experiment.Server{
		{Engine: "postgres", Settings: settings, Create: map[string]string{"wal_segment_size": "64MB", "data_checksums": "on"}},
		{Engine: "postgres"},
	} {
		t.Run(fmt.Sprintf("%s %s", s.Engine, s.Version), func(t *testing.T) {
			p, e, a := begun(t, s)
			t.Log(p.Program.Product, p.Program.Paths)
			asAsked(t, e, a, s)
			t.Log(write(t, e, a))
		})
	}
}
