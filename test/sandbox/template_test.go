package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDataDirectoriesAreCopied: system tables are made once, and a server has what its settings say all the same.
func TestDataDirectoriesAreCopied(t *testing.T) {
	b := box(t)
	t.Setenv("PLUMB_TEST_CACHE", filepath.Join(b.Dir, "cache"))
	for _, c := range []struct {
		name, settings, variable, want string
		made                           int // data directories in the cache
	}{
		{"shaped", "lower_case_table_names = 1", "lower_case_table_names", "1", 0},
		{"first", "", "innodb_log_file_size", "100663296", 1},
		{"second", "innodb_log_file_size = 16M", "innodb_log_file_size", "16777216", 1},
	} {
		s, err := b.MySQL(MySQLOptions{Name: c.name, Settings: c.settings})
		Need(t, err)
		Need(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY)"))
		db, err := s.Open()
		Need(t, err)
		var got string
		Need(t, db.QueryRow("SELECT @@"+c.variable).Scan(&got))
		Need(t, db.Close())
		if got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.variable, got, c.want)
		}
		if log, err := os.Stat(filepath.Join(s.Dir, "ib_logfile0")); err != nil || c.variable == "innodb_log_file_size" && log.Size() < 16<<20 {
			t.Errorf("%s: the redo log is %v, %v", c.name, log, err)
		}
		if made, _ := filepath.Glob(filepath.Join(b.Dir, "cache/mariadb-data/*/made")); len(made) != c.made {
			t.Errorf("%s: made are %q", c.name, made)
		}
	}
}

// TestFirstClusterIsCopied: what initdb makes is made once for the first servers of boxes, and two servers of one box are
// two to who compares their system identifiers.
func TestFirstClusterIsCopied(t *testing.T) {
	one, two := box(t), box(t)
	cache := filepath.Join(one.Dir, "cache")
	t.Setenv("PLUMB_TEST_CACHE", cache)
	ask := func(b *Box, o PostgresOptions, query string) (answer string) {
		t.Helper()
		o.Port = FreePort(t)
		s, err := b.Postgres(o)
		Need(t, err)
		db, err := s.Open()
		Need(t, err)
		defer db.Close()
		Need(t, db.QueryRow(query).Scan(&answer))
		return answer
	}
	const identifier = "SELECT system_identifier::text FROM pg_control_system()"
	first := ask(one, PostgresOptions{Name: "first", WALdir: filepath.Join(one.Dir, "wal")}, identifier)
	if link, err := os.Readlink(filepath.Join(one.Dir, "first/pg_wal")); err != nil || link != filepath.Join(one.Dir, "wal") {
		t.Errorf("its log is in %q, %v", link, err)
	}
	if second := ask(one, PostgresOptions{Name: "second"}, identifier); second == first {
		t.Errorf("two servers of a box are both %s", second)
	}
	if other := ask(two, PostgresOptions{}, identifier); other != first {
		t.Errorf("the first server of another box is %s, and was made anew", other)
	}
	if sums := ask(box(t), PostgresOptions{Initdb: []string{"--data-checksums"}}, "SHOW data_checksums"); sums != "on" {
		t.Errorf("checksums are %s", sums)
	}
	if made, _ := filepath.Glob(cache + "/postgres-data/*/made"); len(made) != 2 {
		t.Errorf("made are %q", made)
	}
}
