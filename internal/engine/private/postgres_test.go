package private

import (
	"strings"
	"testing"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

func TestSameOfPostgreSQL(t *testing.T) {
	for _, c := range []struct {
		setting, asked, effective string
		same                      bool
	}{
		{"shared_buffers", "256MB", "32768 8kB", true},
		{"shared_buffers", "32768", "32768 8kB", true},
		{"shared_buffers", "0x8000", "32768 8kB", true},
		{"shared_buffers", "100kB", "12 8kB", true}, // rounded to even
		{"shared_buffers", "256MB", "16384 8kB", false},
		{"max_wal_size", "4GB", "4096 MB", true},
		{"max_wal_size", "4096", "4096 MB", true},
		{"checkpoint_timeout", "15min", "900 s", true},
		{"checkpoint_timeout", "0.25h", "900 s", true},
		{"checkpoint_timeout", "15", "900 s", false},
		{"bgwriter_delay", "0.2s", "200 ms", true},
		{"autovacuum_vacuum_cost_delay", "2", "2 ms", true},
		{"autovacuum_vacuum_cost_delay", "500us", "0.5 ms", true},
		{"checkpoint_completion_target", "0.90", "0.9", true},
		{"checkpoint_completion_target", "0.5", "0.9", false},
		{"autovacuum_work_mem", "-1", "-1 kB", true},
		{"autovacuum_work_mem", "1MB", "-1 kB", false},
		{"wal_buffers", "-1", "1024 8kB", true},
		{"fsync", "0", "off", true},
		{"fsync", "off", "on", false},
		{"fsync", "t", "on", true},
		{"wal_compression", "on", "pglz", true},
		{"wal_compression", "on", "on", true},
		{"wal_compression", "on", "lz4", false},
		{"wal_compression", "off", "pglz", false},
		{"synchronous_commit", "OFF", "off", true},
		{"synchronous_commit", "off", "local", false},
		{"wal_sync_method", "FSYNC", "fsync", true},
		{"search_path", "a, b", `a,"b"`, true},
		{"work_mem", "4 parsecs", "4096 kB", false},
		{"work_mem", "4ms", "4 kB", false},
		{"encoding", "UTF-8", "UTF8", true},
	} {
		if got := PostgreSQL().Same(c.setting, c.asked, c.effective); got != c.same {
			t.Errorf("%s: %q and %q: %t", c.setting, c.asked, c.effective, got)
		}
	}
}

func TestPostgreSQLSettingsThatLeaveTheBoxAreRefused(t *testing.T) {
	for name, value := range map[string]string{"data_directory": "/x", "Port": "5432", "listen_addresses": "*", "archive_command": "rm -rf x", "a b": "1",
		"work_mem": "1MB'\ninclude '/x", "shared_preload_libraries": "/tmp/x.so", "logging_collector": "on", "wal_segment_size": "16MB", "primary_conninfo": "host=x"} {
		if err := postgresRules().validate(experiment.Server{Engine: postgres, Settings: map[string]string{name: value}}); err == nil {
			t.Errorf("%s = %q is allowed", name, value)
		}
		if _, _, err := PostgreSQL().Set(name, value); err == nil {
			t.Errorf("ALTER SYSTEM SET %s = %q is allowed", name, value)
		}
	}
	for name, value := range map[string]string{"wal_segment_size": "3MB", "data_checksums": "maybe", "locale": "C; x", "work_mem": "4MB", "encoding": "--x y"} {
		if err := postgresRules().validate(experiment.Server{Engine: postgres, Create: map[string]string{name: value}}); err == nil {
			t.Errorf("create %s = %q is allowed", name, value)
		}
	}
	s := experiment.Server{Engine: postgres, Create: map[string]string{"wal_segment_size": "64MB", "data_checksums": "off", "locale": "en_US.UTF-8"},
		Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.max": "1000", "search_path": `"$user", public`}}
	if err := postgresRules().validate(s); err != nil {
		t.Error(err)
	}
}

func TestFilesOfPostgreSQL(t *testing.T) {
	s := experiment.Server{Engine: postgres, Settings: map[string]string{"Work_Mem": "4MB", "application_name": `it's a \ test`}}
	files, err := PostgreSQL().Files(lab.Program{}, s, "/box/data", "/box/run")
	if err != nil {
		t.Fatal(err)
	}
	text := string(files["/box/run/postgresql.conf"])
	for _, line := range []string{"include = '/box/data/postgresql.conf'", "listen_addresses = ''", "work_mem = '4MB'", `application_name = 'it''s a \\ test'`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	if _, err := PostgreSQL().Files(lab.Program{}, s, "/box/data", "/"+strings.Repeat("x", 100)); err == nil {
		t.Error("a socket with too long a path is allowed")
	}
}

func TestSet(t *testing.T) {
	for _, c := range [][3]string{{"work_mem", "4MB", "'4MB'"}, {"search_path", `a, "b"`, "'a', 'b'"}, {"work_mem", "Default", "DEFAULT"}, {"x.y", "it's", "'it''s'"}} {
		got, after, err := PostgreSQL().Set(c[0], c[1])
		if err != nil || got != "ALTER SYSTEM SET "+c[0]+" = "+c[2] || after != "SELECT pg_reload_conf()" {
			t.Error(got, after, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for line, want := range map[string]string{"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": "15.18", "postgres (PostgreSQL) 18beta1\n": "18", "x": ""} {
		if got, ok := versionOf([]byte(line)); got != want || ok != (want != "") {
			t.Errorf("%s: %s", line, got)
		}
	}
	all := []found{{engine: postgres, version: "9.6.24"}, {engine: postgres, version: "15.18", Program: lab.Program{Product: "PostgreSQL 15.18"}}}
	if p, ok := choose(all, experiment.Server{Engine: postgres}); !ok || p.version != "15.18" {
		t.Error(p)
	}
	if _, ok := choose(all, experiment.Server{Engine: postgres, Version: "1"}); ok {
		t.Error("15 is no 1")
	}
	if err := (programs{Server: product.Of(product.Postgres)}).missing(all[1:], experiment.Server{Engine: postgres, Version: "17"}, true); err.Error() != "no PostgreSQL 17 is installed; there is PostgreSQL 15.18" {
		t.Error(err)
	}
}

func FuzzSameOfPostgreSQL(f *testing.F) {
	f.Add("shared_buffers", "1GB", "131072 8kB")
	f.Add("search_path", "a, b", `a,"b"`)
	f.Add("x", "0x7fffffffffffffff", "1e300 TB")
	f.Fuzz(func(t *testing.T, setting, asked, effective string) {
		e := PostgreSQL()
		if !e.Same(setting, asked, asked) {
			t.Errorf("%q is not itself", asked)
		}
		e.Same(setting, asked, effective)
		e.Lookup(map[string]string{setting: effective}, setting)
		if q, _, err := e.Set(setting, asked); err == nil && strings.ContainsAny(q, "\n\x00") {
			t.Errorf("a statement of several lines: %q", q)
		}
		walSegment(asked)
		versionOf([]byte(asked))
	})
}
