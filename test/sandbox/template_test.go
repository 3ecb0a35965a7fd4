package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
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
		if made, _ := filepath.Glob(filepath.Join(b.Dir, "cache/mariadb-data/*/data")); len(made) != c.made {
			t.Errorf("%s: made are %q", c.name, made)
		}
	}
}

// TestClustersAreCopied: what initdb makes is made once, and each server is another to who compares system identifiers.
func TestClustersAreCopied(t *testing.T) {
	b := box(t)
	cache := filepath.Join(b.Dir, "cache")
	t.Setenv("PLUMB_TEST_CACHE", cache)
	seen := map[string]string{}
	for _, c := range []struct {
		name, wal string
		initdb    []string
		sums      string
		made      int // data directories in the cache
	}{
		{"first", "", nil, "off", 1},
		{"second", filepath.Join(b.Dir, "wal"), nil, "off", 1},
		{"third", "", []string{"--data-checksums"}, "on", 2},
	} {
		s, err := b.Postgres(PostgresOptions{Name: c.name, WALdir: c.wal, Initdb: c.initdb, Port: FreePort(t)})
		Need(t, err)
		db, err := s.Open()
		Need(t, err)
		var identifier, sums string
		Need(t, db.QueryRow("SELECT system_identifier::text, current_setting('data_checksums') FROM pg_control_system()").Scan(&identifier, &sums))
		Need(t, db.Close())
		if seen[identifier] != "" || sums != c.sums {
			t.Errorf("%s: its identifier is %s, as that of %q; its checksums are %s, want %s", c.name, identifier, seen[identifier], sums, c.sums)
		}
		seen[identifier] = c.name
		if link, err := os.Readlink(filepath.Join(s.Dir, "pg_wal")); link != c.wal {
			t.Errorf("%s: its log is in %q, %v, want %q", c.name, link, err, c.wal)
		}
		if made, _ := filepath.Glob(cache + "/postgres-data/*/data"); len(made) != c.made {
			t.Errorf("%s: made are %q", c.name, made)
		}
	}
}

// TestTemplatesAreWhole: a template is made once for all who want it at a time, anew after an upgrade of its program, and
// what a test left that failed or was killed is none.
func TestTemplatesAreWhole(t *testing.T) {
	b := ForTest(t, "")
	t.Setenv("PLUMB_TEST_CACHE", filepath.Join(b.Dir, "cache"))
	program, err := b.Write("program", "1.0")
	Need(t, err)
	var installs atomic.Int32
	from := template{kind: "kind", program: program, install: func(data string) error {
		installs.Add(1)
		return os.WriteFile(filepath.Join(data, "whole"), nil, 0o644)
	}}
	dir, err := b.templateDir(from)
	Need(t, err)
	there := func() []string { all, _ := filepath.Glob(dir + "*"); return all }

	broken := from
	broken.install = func(string) error { return errors.New("no space") }
	if _, err := b.made(broken); err == nil || !slices.Equal(there(), []string{dir + ".lock"}) {
		t.Errorf("after a failure: %v; there are %q", err, there())
	}
	Need(t, os.MkdirAll(dir+".begun-1/data", 0o755)) // by a test that was killed
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			data, err := b.made(from)
			if _, missing := os.Stat(filepath.Join(data, "whole")); err != nil || missing != nil {
				t.Errorf("%s: %v, %v", data, err, missing)
			}
		})
	}
	all.Wait()
	if want := []string{dir, dir + ".lock"}; !slices.Equal(there(), want) || installs.Load() != 1 {
		t.Errorf("it was installed %d times; there are %q, want %q", installs.Load(), there(), want)
	}
	Need(t, os.WriteFile(program, []byte("1.0.1"), 0o644))
	if data, err := b.made(from); err != nil || data == filepath.Join(dir, "data") || installs.Load() != 2 {
		t.Errorf("after an upgrade: %s, %v, installed %d times", data, err, installs.Load())
	}
}

// TestIdentified: a control file that is cut off, or has no checksum, is left alone.
func TestIdentified(t *testing.T) {
	identifier := []byte("12345678")
	control := binary.NativeEndian.AppendUint32([]byte("87654321 and more"), 0)
	for _, text := range [][]byte{nil, control[:7], control} {
		if got, err := identified(text, identifier); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}
