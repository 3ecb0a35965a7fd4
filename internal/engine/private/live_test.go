package private_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/private"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/test/sandbox"
	"plumb/test/sandbox/labbox"
)

// engineOf gives the engine that serves a name.
func engineOf(name string) lab.Engine {
	if name == "postgres" {
		return private.PostgreSQL()
	}
	return private.MySQL()
}

// begun starts a private server.
func begun(t *testing.T, s experiment.Server) (*labbox.Server, lab.Engine, load.Admin) {
	t.Helper()
	b := sandbox.ForTest(t, "")
	t.Setenv("PLUMB_CACHE", sandbox.Cache())
	e := engineOf(s.Engine)
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
	wrong, effective := notAsAsked(t, e, a, s)
	for _, w := range wrong {
		t.Error(w)
	}
	return effective
}

// soonAsAsked waits for what a server does beside us: a buffer pool grows, and a configuration is read again.
func soonAsAsked(t *testing.T, e lab.Engine, a load.Admin, s experiment.Server) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if wrong, _ := notAsAsked(t, e, a, s); len(wrong) == 0 {
			return
		}
	}
	asAsked(t, e, a, s)
}

func notAsAsked(t *testing.T, e lab.Engine, a load.Admin, s experiment.Server) (wrong []string, effective map[string]string) {
	t.Helper()
	effective, err := e.Effective(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []map[string]string{s.Create, s.Settings} {
		for name, asked := range from {
			if have, known := e.Lookup(effective, name); !known || !e.Same(name, asked, have) {
				wrong = append(wrong, fmt.Sprintf("%s is %q (known: %t), asked %q", name, have, known, asked))
			}
		}
	}
	return wrong, effective
}

// write gives the server something to write into a table that it makes, and
// tells how its counters grew once it has reported.
func write(t *testing.T, e lab.Engine, a load.Admin, table string, report func()) map[string]float64 {
	t.Helper()
	ctx := t.Context()
	if err := a.Exec(ctx, table); err != nil {
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
	report()
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

// treeOfMySQL gives the directory of an unpacked MySQL; "" where there is
// none to be had.
func treeOfMySQL(t *testing.T) string {
	if os.Getenv("PLUMB_REAL") == "" {
		return ""
	}
	base, _, err := sandbox.MySQLTree()
	if err != nil {
		t.Log(err)
		return ""
	}
	return base
}

func TestMySQLServers(t *testing.T) {
	settings := map[string]string{"innodb_buffer_pool_size": "256M", "log_bin": "ON", "sync_binlog": "1", "innodb-flush-log-at-trx-commit": "1",
		"innodb_io_capacity": "2000", "innodb_max_dirty_pages_pct": "75", "transaction_isolation": "READ-COMMITTED", "skip_name_resolve": "on",
		"max_allowed_packet": "32M", "innodb_flush_method": "O_DIRECT", "character_set_server": "utf8mb4", "long_query_time": "0.5"}
	native := treeOfMySQL(t)
	for _, s := range []experiment.Server{
		{Engine: "mariadb", Settings: settings, Create: map[string]string{"innodb_page_size": "8K"}},
		{Engine: "mariadb", Settings: map[string]string{"log_bin": "OFF", "innodb_doublewrite": "0", "sql_mode": ""}},
		{Engine: "mariadb", Version: "11.4", Settings: settings, Create: map[string]string{"innodb_page_size": "32K"}},
		{Engine: "mysql", Basedir: native, Settings: settings, Create: map[string]string{"innodb_page_size": "8K"}},
		{Engine: "mysql", Basedir: native, Settings: map[string]string{"log_bin": "OFF", "innodb_redo_log_capacity": "200M", "innodb_doublewrite": "OFF"}},
	} {
		t.Run(fmt.Sprintf("%s %s", s.Engine, s.Version), func(t *testing.T) {
			if s.Engine == "mysql" && native == "" {
				t.Skip("no MySQL, which PLUMB_REAL=1 fetches")
			}
			if os.Getenv("PLUMB_REAL") == "" && s.Version+s.Basedir != "" {
				t.Skip("other versions than the installed one: PLUMB_REAL=1")
			}
			p, e, a := begun(t, s)
			t.Log(p.Program.Product, p.Program.Paths)
			asAsked(t, e, a, s)
			grown := write(t, e, a, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(1000)) ENGINE=InnoDB", func() {})
			for name, least := range map[string]float64{"server redo written": 200 * 1000, "server written": 200 * 1000, "server fsyncs": 200} {
				if grown[name] < least {
					t.Errorf("%s: %v", name, grown)
				}
			}
			t.Log(grown)
		})
	}
}

// TestWhatMySQLRounds asks for odd values: what is a documented rounding is
// as asked, what is another value is not.
func TestWhatMySQLRounds(t *testing.T) {
	rounded := map[string]string{"innodb_buffer_pool_size": "200M", "join_buffer_size": "1000001", "key_buffer_size": "10000001", "read_buffer_size": "200001",
		"max_allowed_packet": "20000001", "net_buffer_length": "20001", "thread_stack": "500001", "query_cache_size": "2000001", "max_binlog_size": "10000001",
		"binlog_cache_size": "50001", "innodb_log_buffer_size": "20000001", "innodb_log_file_size": "50000001", "query_prealloc_size": "50001",
		"transaction_prealloc_size": "5001", "tmp_table_size": "20000001", "max_heap_table_size": "20000001", "innodb_sort_buffer_size": "2000001",
		"sql_mode": "TRADITIONAL", "optimizer_switch": "mrr=on", "character_set_server": "utf8"}
	cut := map[string]string{"innodb_io_capacity": "1", "max_connections": "1000000", "innodb_flush_log_at_timeout": "999999"}
	s := experiment.Server{Engine: "mariadb", Settings: maps.Clone(rounded)}
	maps.Copy(s.Settings, cut)
	_, e, a := begun(t, s)
	effective, err := e.Effective(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for name, asked := range s.Settings {
		have, known := e.Lookup(effective, name)
		if _, isCut := cut[name]; !known || e.Same(name, asked, have) == isCut {
			t.Errorf("%s is %q (known: %t), asked %q", name, have, known, asked)
		}
	}
}

// TestSwitchingMySQL changes dynamic settings as ABBA does.
func TestSwitchingMySQL(t *testing.T) {
	_, e, a := begun(t, experiment.Server{Engine: "mariadb"})
	want := map[string]string{"innodb_flush_log_at_trx_commit": "2", "innodb_buffer_pool_size": "256M", "innodb_flush_neighbors": "0",
		"innodb_max_dirty_pages_pct": "50.5", "sql_mode": "STRICT_ALL_TABLES", "max_allowed_packet": "1M"}
	for name, value := range want {
		statement, after, err := e.Set(name, value)
		if err != nil || after != "" {
			t.Fatal(after, err)
		}
		if err := a.Exec(t.Context(), statement); err != nil {
			t.Error(err)
		}
	}
	soonAsAsked(t, e, a, experiment.Server{Settings: want})
	statement, _, err := e.Set("innodb_page_size", "4K")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Exec(t.Context(), statement); err == nil {
		t.Error("a setting of the start was changed")
	}
}

// reported waits until the processes of PostgreSQL have told what they did.
func reported(t *testing.T, a load.Admin) {
	t.Helper()
	if err := a.Exec(t.Context(), "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1200 * time.Millisecond) // they report once a second
	if err := a.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

func TestPostgreSQLServers(t *testing.T) {
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
			grown := write(t, e, a, "CREATE TABLE t (id SERIAL PRIMARY KEY, b TEXT)", func() { reported(t, a) })
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

// TestSwitchingPostgreSQL changes dynamic settings as ABBA does.
func TestSwitchingPostgreSQL(t *testing.T) {
	_, e, a := begun(t, experiment.Server{Engine: "postgres"})
	want := map[string]string{"work_mem": "100001kB", "synchronous_commit": "off", "checkpoint_timeout": "7min", "search_path": "pg_catalog, public",
		"checkpoint_completion_target": ".5", "backend_flush_after": "100kB"}
	switched(t, e, a, want)
	soonAsAsked(t, e, a, experiment.Server{Settings: want})
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
	for engine, words := range map[string]string{"mariadb": "unknown variable 'no_such_setting=1'", "postgres": `unrecognized configuration parameter "no_such_setting"`} {
		t.Run(engine, func(t *testing.T) {
			b := sandbox.ForTest(t, "")
			_, err := labbox.Start(t.Context(), b, "server", engineOf(engine), experiment.Server{Engine: engine, Settings: map[string]string{"no_such_setting": "1"}}, false)
			if err == nil || !strings.Contains(err.Error(), words) {
				sandbox.Need(t, err)
				t.Error(err)
			}
		})
	}
}

// TestStopAndStartAgain: data that was made with one configuration serves
// another, as clones of the lab's golden directory do.
func TestStopAndStartAgain(t *testing.T) {
	for _, c := range []struct {
		engine, table, stopped string
		then                   map[string]string
	}{
		{"mariadb", "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB", "Shutdown complete", map[string]string{"innodb_buffer_pool_size": "64M", "log_bin": "ON"}},
		{"postgres", "CREATE TABLE t (id INT PRIMARY KEY)", "database system is shut down", map[string]string{"shared_buffers": "64MB", "fsync": "off"}},
	} {
		t.Run(c.engine, func(t *testing.T) { stopAndStart(t, experiment.Server{Engine: c.engine}, c.table, c.stopped, c.then) })
	}
}

func stopAndStart(t *testing.T, s experiment.Server, table, stopped string, then map[string]string) {
	b := sandbox.ForTest(t, "")
	e := engineOf(s.Engine)
	p, err := labbox.Start(t.Context(), b, "server", e, s, false)
	sandbox.Need(t, err)
	execute(t, p, table, "INSERT INTO t VALUES (1)")
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	_, _, log := e.Serve(p.Program, s, p.Data, p.Run)
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), stopped) {
		t.Errorf("%v: %s", err, text)
	}
	s.Settings = then
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
