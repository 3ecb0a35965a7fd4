package point_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// A log of statements has what LOAD DATA read, and a replay loads it again.
func TestLoadDataIsReplayed(t *testing.T) {
	dir := ""
	with := func(b *sandbox.Box, o *sandbox.MySQLOptions) {
		var err error
		dir, err = b.Mkdir("loaded")
		sandbox.Need(t, err)
		o.Settings += "secure_file_priv = " + dir + "\n"
	}
	onEachWith(t, with, func(s *source) {
		t := s.t
		s.needPrograms()
		file := filepath.Join(dir, "rows")
		if err := os.WriteFile(file, []byte("1\ta\n2\tb\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		c := s.at("copy")
		conn, _ := s.session()
		defer conn.Close()
		for _, q := range []string{"SET SESSION binlog_format = 'STATEMENT'", "LOAD DATA INFILE '" + file + "' INTO TABLE shop.t"} {
			if _, err := conn.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		s.neutralAndReplayed(c, 1)
	})
}

// neutralAndReplayed starts a copy, and replays what the server has written since.
func (s *source) neutralAndReplayed(c protect.Copy, transactions int) {
	t := s.t
	t.Helper()
	c.Purpose = protect.ForReplay
	if err := s.engine.Neutralise(t.Context(), s.doer, c); err != nil {
		t.Fatal(err)
	}
	r := s.start(c)
	is, err := s.engine.Stands(t.Context(), s.doer, r, c)
	if err != nil {
		t.Fatal(err)
	}
	s.replays(r, c, is, transactions)
}

// GTIDs are switched on while a server runs: the log has transactions without one, and then with one.
func TestGTIDsAreSwitchedOn(t *testing.T) {
	onEachWith(t, func(_ *sandbox.Box, o *sandbox.MySQLOptions) { o.Settings += "loose_gtid_mode = OFF\n" }, func(s *source) {
		if !s.options.Native {
			s.t.Skip("MariaDB always has GTIDs")
		}
		c := s.at("copy")
		s.exec("INSERT INTO shop.t (v) VALUES ('a')", "SET GLOBAL gtid_mode = OFF_PERMISSIVE", "SET GLOBAL gtid_mode = ON_PERMISSIVE", "SET GLOBAL gtid_mode = ON", "INSERT INTO shop.t (v) VALUES ('b')")
		s.neutralAndReplayed(c, 2)
	})
}

// A table in memory is empty in a copy, whose server notes that when it opens it: the replay of a transaction that fills it is none the worse.
func TestTablesInMemory(t *testing.T) {
	onEach(t, func(s *source) {
		s.needPrograms()
		s.exec("CREATE TABLE shop.brief (i INT) ENGINE=MEMORY", "INSERT INTO shop.brief VALUES (1)")
		c := s.at("copy")
		s.exec("INSERT INTO shop.brief VALUES (2)", "INSERT INTO shop.t (v) VALUES ('a')", "INSERT INTO shop.t (v) VALUES ('b')")
		s.neutralAndReplayed(c, 3)
	})
}

// A table that the log gives a directory of its own is made in the copy, and not beside the source's.
func TestATableElsewhereIsReplayedHere(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		if s.options.Native {
			t.Skip("MySQL makes no table in a directory that it was not told of")
		}
		s.needPrograms()
		c := s.at("copy")
		away, err := s.box.Mkdir("away")
		sandbox.Need(t, err)
		s.exec("CREATE TABLE shop.far (id INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY = '"+away+"'", "INSERT INTO shop.far VALUES (1)",
			"CREATE TABLE shop.gone (id INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY = '"+away+"'", "DROP TABLE shop.gone", "INSERT INTO shop.t (v) VALUES ('a')", "INSERT INTO shop.t (v) VALUES ('b')")
		s.neutralAndReplayed(c, 6)
		if _, err := os.Stat(filepath.Join(c.In(s.sv.Dir("data")), "shop", "far.ibd")); err != nil {
			t.Error(err)
		}
		if all, err := filepath.Glob(filepath.Join(away, "*", "*")); err != nil || len(all) != 1 {
			t.Errorf("beside the source's table: %q, %v", all, err)
		}
	})
}

// Others commit between the two halves of an XA transaction, also where transactions are compressed.
func TestXAIsReplayed(t *testing.T) {
	onEachWith(t, func(_ *sandbox.Box, o *sandbox.MySQLOptions) {
		o.Settings += "loose_binlog_transaction_compression = ON\n"
	}, func(s *source) {
		if !s.options.Native {
			s.t.Skip("a session of MariaDB that has prepared one does nothing else until that is decided")
		}
		c := s.at("copy")
		s.exec("XA START 'x'; INSERT INTO shop.t (v) VALUES ('a'); XA END 'x'; XA PREPARE 'x'", "INSERT INTO shop.t (v) VALUES ('b')", "XA COMMIT 'x'")
		s.neutralAndReplayed(c, 3)
	})
}

// Without its redo log MySQL does not start on what a snapshot has: no mode takes one.
func TestNoRedoLog(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		if !s.options.Native {
			t.Skip("MariaDB has no such switch")
		}
		s.exec("ALTER INSTANCE DISABLE INNODB REDO_LOG", "INSERT INTO shop.t (v) VALUES ('a')")
		s.look()
		for _, mode := range []string{protect.ModeCrash, protect.ModeLocked, protect.ModeFreeze} {
			if m := s.mode(mode, protect.Set{}); !strings.Contains(m.Not, "ALTER INSTANCE ENABLE INNODB REDO_LOG") {
				t.Errorf("%s: %q", mode, m.Not)
			}
		}
		c := s.at("copy")
		if err := s.engine.Neutralise(t.Context(), s.doer, c); err != nil {
			t.Fatal(err)
		}
		p, _, log, err := s.engine.Serve(c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.doer.Start(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-r.Done():
		case <-time.After(time.Minute):
			t.Error("a server runs on the copy")
		}
		if text, err := os.ReadFile(log); err != nil || !strings.Contains(strings.ToLower(string(text)), "redo logging was disabled") {
			t.Errorf("%v: %s", err, text)
		}
		s.exec("ALTER INSTANCE ENABLE INNODB REDO_LOG")
		s.look()
		if m := s.mode(protect.ModeCrash, protect.Set{}); m.Not != "" {
			t.Error(m.Not)
		}
	})
}
