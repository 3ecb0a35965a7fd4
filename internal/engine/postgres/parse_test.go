package postgres

import (
	"slices"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// conf has lines as initdb, people and Windows editors write them.
const conf = "# comment\r\n" +
	"max_connections = 100\t\t\t# (change requires restart)\r\n" +
	"shared_buffers=128MB\n" +
	"log_line_prefix = '%m [%p] it''s \\'here\\' '  # quoted\n" +
	"Work_Mem 4MB\n" +
	"auto_explain.log_min_duration = '250ms'\n" +
	"include_dir 'conf.d'\n" +
	"archive_command = ''\n" +
	"random_page_cost = 1.1 1.2\n" +
	"wal_level = 'replica\n" +
	"= 3\n" +
	"fsync\n" +
	"\u00a0fsync = off\n" // a letter to the server, so another name

func TestParseConfig(t *testing.T) {
	lines, bad := parseConfig("/c", []byte(conf))
	want := []struct {
		name, value string
		line        int
	}{
		{"max_connections", "100", 2}, {"shared_buffers", "128MB", 3}, {"log_line_prefix", "%m [%p] it's 'here' ", 4},
		{"work_mem", "4MB", 5}, {"auto_explain.log_min_duration", "250ms", 6}, {"include_dir", "conf.d", 7}, {"archive_command", "", 8}, {"\u00a0fsync", "off", 13},
	}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines: %v", len(lines), lines)
	}
	for i, w := range want {
		if l := lines[i]; l.name != w.name || l.value != w.value || l.origin.Line != w.line {
			t.Errorf("line %d: got %q = %q at %d, want %q = %q at %d", i, l.name, l.value, l.origin.Line, w.name, w.value, w.line)
		}
	}
	if len(bad) != 4 {
		t.Errorf("bad lines: %v", bad)
	}
}

func TestTyped(t *testing.T) {
	for _, c := range []struct {
		typ        catalog.Type
		unit, text string
		want       stack.Value
		ok         bool
	}{
		{catalog.Bytes, "8kB", "16384", stack.Int(128 << 20), true},
		{catalog.Bytes, "8kB", "128MB", stack.Int(128 << 20), true},
		{catalog.Bytes, "8kB", "-1", stack.Int(-1), true},
		{catalog.Bytes, "kB", "1.5GB", stack.Int(3 << 29), true},
		{catalog.Bytes, "MB", "5min", stack.Value{}, false},
		{catalog.Seconds, "s", "5min", stack.Int(300), true},
		{catalog.Seconds, "min", "1440", stack.Int(86400), true},
		{catalog.Millis, "ms", "10s", stack.Int(10000), true},
		{catalog.Micros, "ms", "2", stack.Int(2000), true},
		{catalog.Micros, "ms", "0.5", stack.Int(500), true},
		{catalog.Bool, "", "of", stack.Bool(false), true},
		{catalog.Bool, "", "t", stack.Bool(true), true},
		{catalog.Bool, "", "o", stack.Value{}, false},
		{catalog.Float, "", "1.1", stack.Float(1.1), true},
		{catalog.Int, "", "0x10", stack.Int(16), true},
		{catalog.Int, "", "10MB", stack.Value{}, false},
		{catalog.Int, "", "", stack.Value{}, false},
	} {
		got, ok := typed(&catalog.Fact{Type: c.typ}, c.unit, c.text)
		if ok != c.ok || ok && !got.Equal(c.want) {
			t.Errorf("%s %q in %q: got %v, %v, want %v, %v", c.typ, c.text, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestParseArguments(t *testing.T) {
	data, lines := parseArguments([]string{"/usr/lib/postgresql/15/bin/postgres", "-D", "/var/lib/postgresql/15/main",
		"-c", "config_file=/etc/postgresql/15/main/postgresql.conf", "-p5433", "--work-mem=8MB", "-F"})
	got := []string{data}
	for _, l := range lines {
		got = append(got, l.name+"="+l.value)
	}
	want := []string{"/var/lib/postgresql/15/main", "config_file=/etc/postgresql/15/main/postgresql.conf", "port=5433", "work_mem=8MB", "fsync=off"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParsePidFile(t *testing.T) {
	f := parsePidFile([]byte("8963\n/tmp/15/data\n1795229085\n5515\n/tmp/15/sock\nlocalhost\n  1234  0\nready   \n"))
	if f != (pidFile{"8963", "/tmp/15/data", "5515", "/tmp/15/sock"}) {
		t.Errorf("got %+v", f)
	}
}

func TestGivenHoldsNoSecret(t *testing.T) {
	target, err := Given("postgres://app:s3cret@db.example:6432/x")
	if err != nil || target.Address != "db.example:6432" || target.Name != "postgres:db.example:6432" {
		t.Errorf("got %+v, %v", target, err)
	}
	if socket, err := Given("postgresql:///x?host=/run/postgresql"); err != nil || socket.Address != "/run/postgresql/.s.PGSQL.5432" {
		t.Errorf("got %+v, %v", socket, err)
	}
}

func TestPassfile(t *testing.T) {
	c, err := credentialsFor(host.Target{Network: "unix", Address: "/run/.s.PGSQL.5433"}, host.Login{File: "/root/.pgpass"},
		func(string) ([]byte, error) {
			return []byte("# x\nother:5433:*:a:1\nlocalhost:*:app:me:a\\:b\n"), nil
		})
	if err != nil || c.user != "me" || c.password != "a:b" || c.database != "app" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestReadsEveryQuestion(t *testing.T) {
	for _, q := range questions {
		if !(Dialer{}).Reads(q.SQL) {
			t.Errorf("not a reading statement: %s", q.SQL)
		}
	}
	if !(Dialer{}).Reads(settingsQuery) {
		t.Error("the settings cannot be asked for")
	}
	for _, acts := range []string{"SELECT pg_terminate_backend(1)", "SELECT pg_sleep(10)", "SELECT pg_sleep(0.001), pg_reload_conf()", "SELECT pg_sleep(0.0010)", "SELECT pg_stat_clear_snapshot(), pg_stat_reset()"} {
		if (Dialer{}).Reads(acts) {
			t.Errorf("taken for a reading statement: %s", acts)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(conf))
	f.Fuzz(func(_ *testing.T, text []byte) { parseConfig("/c", text) })
}

func FuzzTyped(f *testing.F) {
	f.Add("8kB", "128MB")
	f.Add("ms", "-1")
	f.Fuzz(func(_ *testing.T, unit, text string) {
		for _, typ := range []catalog.Type{catalog.Bool, catalog.Int, catalog.Float, catalog.Text, catalog.List, catalog.Bytes, catalog.Seconds} {
			typed(&catalog.Fact{Type: typ}, unit, text)
		}
	})
}

func FuzzParsePidFile(f *testing.F) {
	f.Add([]byte("8963\n/tmp/15/data\n1795229085\n5515\n/tmp/15/sock\nlocalhost\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { parsePidFile(text) })
}

func FuzzParsePassfile(f *testing.F) {
	f.Add([]byte("localhost:5432:*:me:a\\:b\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { parsePassfile(text) })
}

func FuzzParseArguments(f *testing.F) {
	f.Add("-D", "/data", "-p5433")
	f.Fuzz(func(_ *testing.T, a, b, c string) { parseArguments([]string{"postgres", a, b, c}) })
}

func FuzzGiven(f *testing.F) {
	f.Add("postgres://app:s3cret@db.example:6432/x")
	f.Fuzz(func(_ *testing.T, dsn string) {
		if _, err := Given(dsn); err == nil {
			fromDSN(dsn)
		}
	})
}

// TestAWayIntoAnotherDatabase: whatever the login names, a session is of the
// database that was asked for, or there is none.
func TestAWayIntoAnotherDatabase(t *testing.T) {
	secret := func(name string) ([]byte, error) {
		if name == host.SecretDSN {
			return []byte("postgres://a:b@db1/shop"), nil
		}
		return []byte("db1:5432:shop:a:one\ndb1:5432:stock:a:two\n"), nil
	}
	at := host.Target{Network: "tcp", Address: "db1:5432", Logins: []host.Login{{DSN: true}, {File: "/root/.pgpass"}}}
	for database, want := range map[string][]string{"stock": {"stock", "stock"}, "other": {"other", ""}} {
		for i, l := range In(at, database).Logins {
			c, err := credentialsFor(at, l, secret)
			if (want[i] == "") != (err != nil) || err == nil && c.database != want[i] {
				t.Errorf("login %d into %s: %s, %v", i, database, c.database, err)
			}
		}
	}
	for i, l := range at.Logins {
		if c, err := credentialsFor(at, l, secret); err != nil || c.database != "shop" {
			t.Errorf("login %d: %s, %v", i, c.database, err)
		}
	}
}
