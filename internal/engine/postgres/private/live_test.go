package private_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

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
	t.Setenv("PLUMB_CACHE", sandbox.Cache())
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
	if err := a.Exec(ctx, "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1200 * time.Millisecond) // processes report once a second
	if err := a.Exec(ctx, "SELECT 1"); err != nil {
		t.Fatal(err)
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
		{Engine: "postgres", Version: "17", Settings: settings, Create: map[string]string{"data_checksums": "on"}},
		{Engine: "postgres", Version: "18", Settings: map[string]string{"wal_buffers": "-1", "transaction_buffers": "0"}, Create: map[string]string{"data_checksums": "off"}},
	} {
		t.Run(fmt.Sprintf("%s %s", s.Engine, s.Version), func(t *testing.T) {
			if os.Getenv("PLUMB_REAL") == "" && s.Version+s.Basedir != "" {
				t.Skip("other versions than the installed one: PLUMB_REAL=1")
			}
			p, e, a := begun(t, s)
			t.Log(p.Program.Product, p.Program.Paths)
			asAsked(t, e, a, s)
			grown := write(t, e, a)
			for _, name := range []string{"server redo written", "server written"} {
				if grown[name] < 200*1000 {
					t.Errorf("%s: %v", name, grown)
				}
			}
			if _, known := grown["server fsyncs"]; known != (s.Version != "") || known && s.Settings["fsync"] != "off" && grown["server fsyncs"] < 200 {
				t.Errorf("server fsyncs: %v", grown)
			}
			t.Log(grown)
		})
	}
}

// TestSwitching changes dynamic settings as ABBA does.
func TestSwitching(t *testing.T) {
	_, e, a := begun(t, experiment.Server{Engine: "postgres"})
	want := map[string]string{"work_mem": "100001kB", "synchronous_commit": "off", "checkpoint_timeout": "7min", "search_path": "pg_catalog, public",
		"checkpoint_completion_target": ".5", "backend_flush_after": "100kB"}
	switched(t, e, a, want)
	time.Sleep(200 * time.Millisecond)
	asAsked(t, e, a, experiment.Server{Settings: want})
	static := map[string]string{"shared_buffers": "64MB"}
	switched(t, e, a, static)
	effective, err := e.Effective(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if have, _ := e.Lookup(effective, "shared_buffers"); e.Same("shared_buffers", "64MB", have) {
		t.Error("a setting of the start was changed, or seems to be")
	}
}

func switched(t *testing.T, e lab.Engine, a load.Admin, want map[string]string) {
	t.Helper()
	for name, value := range want {
		statement, after, err := e.Set(name, value)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Exec(t.Context(), statement, after); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusedConfiguration: the server's own words say why.
func TestRefusedConfiguration(t *testing.T) {
	b, err := sandbox.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = labbox.Start(t.Context(), b, "server", private.New(), experiment.Server{Engine: "postgres", Settings: map[string]string{"no_such_setting": "1"}}, false)
	if err == nil || !strings.Contains(err.Error(), `unrecognized configuration parameter "no_such_setting"`) {
		sandbox.Need(t, err)
		t.Error(err)
	}
}

// TestStopAndStartAgain: data that was made with one configuration serves
// another, as clones of the lab's golden directory do.
func TestStopAndStartAgain(t *testing.T) {
	b, err := sandbox.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e, s := private.New(), experiment.Server{Engine: "postgres"}
	p, err := labbox.Start(t.Context(), b, "server", e, s, false)
	sandbox.Need(t, err)
	execute(t, p, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	_, _, log := e.Serve(p.Program, s, p.Data, p.Run)
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "database system is shut down") {
		t.Errorf("%v: %s", err, text)
	}
	s.Settings = map[string]string{"shared_buffers": "64MB", "fsync": "off"}
	if err := p.Again(t.Context(), b, e, s); err != nil {
		t.Fatal(err)
	}
	execute(t, p, "INSERT INTO t VALUES (2)")
	a, err := p.Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	asAsked(t, e, a, s)
	if rows, err := a.Query(t.Context(), "SELECT id FROM t"); err != nil || len(rows.Values) != 2 {
		t.Error(rows, err)
	}
}

func execute(t *testing.T, p *labbox.Server, statements ...string) {
	t.Helper()
	a, err := p.Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Exec(t.Context(), statements...); err != nil {
		t.Fatal(err)
	}
}
