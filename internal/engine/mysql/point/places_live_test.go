package point_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// elsewhere puts every kind of file into a directory of its own, of which one is reached by
// a link, and uses settings with which data is read wrongly by others.
func elsewhere(t *testing.T) func(*sandbox.Box, *sandbox.MySQLOptions) {
	return func(b *sandbox.Box, o *sandbox.MySQLOptions) {
		dir := func(name string) string {
			d, err := b.Mkdir(name)
			sandbox.Need(t, err)
			return d
		}
		dir("redo-there")
		if err := os.Symlink(filepath.Join(b.Dir, "redo-there"), filepath.Join(b.Dir, "redo")); err != nil {
			t.Fatal(err)
		}
		settings := []string{"innodb_page_size = 8K", "lower_case_table_names = 1", "character_set_server = latin1", "innodb_log_group_home_dir = " + b.Dir + "/redo",
			"innodb_undo_directory = " + dir("undo"), "innodb_data_home_dir = ", "innodb_data_file_path = " + dir("system") + "/ibdata1:20M;" + dir("system2") + "/ibdata2:16M:autoextend",
			"server_id = 7", "log_bin = own", "log_bin_index = " + dir("index") + "/own.index", "general_log = ON", "general_log_file = " + dir("log") + "/general.log"}
		if o.Native {
			settings = append(settings, "innodb_doublewrite_dir = "+dir("dblwr"), "innodb_directories = "+filepath.Join(b.Dir, "undo"))
		} else {
			settings = append(settings, "aria_log_dir_path = "+dir("aria"), "innodb_undo_tablespaces = 3")
		}
		o.Settings = strings.Join(settings, "\n")
	}
}

// A server that keeps everything in another place is described whole, and its copy uses
// its own places alone.
func TestElsewhere(t *testing.T) {
	onEachWith(t, elsewhere(t), func(s *source) {
		s.t.Log(s.sv.Dirs)
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.server.PID))
		if err != nil || len(files) < 10 {
			s.t.Fatal(err)
		}
		aside := 0
		for _, f := range files {
			to, _ := os.Readlink(f)
			if !strings.HasPrefix(to, s.box.Dir+"/") || strings.HasSuffix(to, " (deleted)") || strings.HasSuffix(to, ".out") {
				continue
			}
			in := slices.ContainsFunc(s.sv.Dirs, func(d protect.Dir) bool { return to == d.Path || strings.HasPrefix(to, d.Path+"/") })
			if left := s.engine.Aside(s.seen, s.sv, to); left {
				aside++
			} else if !in {
				s.t.Errorf("%s is in no directory of the server's, and not left out", to)
			} else if base := filepath.Base(to); left && (strings.HasPrefix(base, "ibdata") || strings.HasSuffix(base, ".ibd") || strings.HasPrefix(base, "own.")) {
				s.t.Errorf("%s is left out", to)
			}
		}
		if aside < 2 {
			s.t.Errorf("%d files are left out, and the logs are two", aside)
		}
		s.exec("INSERT INTO shop.t (v) VALUES ('a')")
		c := s.at("copy")
		if err := s.engine.Neutralise(s.t.Context(), s.doer, c); err != nil {
			s.t.Fatal(err)
		}
		r := s.start(c)
		got, err := s.engine.Recovered(s.t.Context(), r, c)
		if why := s.engine.Same(c.Position, got); err != nil || why != "" || got.File == "" {
			s.t.Errorf("%+v, %v: %s", got, err, why)
		}
		if err := r.Exec(s.t.Context(), "INSERT INTO shop.t (v) VALUES ('b')"); err != nil || r.number(s.t, "SELECT COUNT(*) FROM shop.t") != 2 {
			s.t.Error(err)
		}
		if n := r.number(s.t, "SELECT @@innodb_page_size"); n != 8192 {
			s.t.Errorf("pages of %d", n)
		}
		s.sound(r, c, true)
		s.apart(r, c)
	})
}

// A copy never has its source's number, which MariaDB has by default and drills give: it would take
// the log that it begins itself for the source's.
func TestNumberIsNotTheSources(t *testing.T) {
	onEachWith(t, func(_ *sandbox.Box, o *sandbox.MySQLOptions) { o.Settings += "server_id = 1\n" }, func(s *source) {
		s.exec("INSERT INTO shop.t (v) VALUES ('a')")
		c := s.at("copy")
		c.Number = 1
		if err := s.engine.Neutralise(s.t.Context(), s.doer, c); err != nil {
			s.t.Fatal(err)
		}
		r := s.start(c)
		got, err := s.engine.Recovered(s.t.Context(), r, c)
		if why := s.engine.Same(c.Position, got); err != nil || why != "" || r.number(s.t, "SELECT @@server_id") == 1 {
			s.t.Errorf("%+v, %v: %s", got, err, why)
		}
	})
}

// A server without a binary log has no position, or only that of its GTIDs.
func TestNoBinaryLog(t *testing.T) {
	onEachWith(t, func(_ *sandbox.Box, o *sandbox.MySQLOptions) { o.Settings = "skip_log_bin\nserver_id = 7" }, func(s *source) {
		s.exec("INSERT INTO shop.t (v) VALUES ('a')")
		c := s.at("copy")
		if err := s.engine.Neutralise(s.t.Context(), s.doer, c); err != nil {
			s.t.Fatal(err)
		}
		r := s.start(c)
		got, err := s.engine.Recovered(s.t.Context(), r, c)
		if why := s.engine.Same(c.Position, got); err != nil || why != "" || got.File != "" || r.number(s.t, "SELECT COUNT(*) FROM shop.t") != 1 {
			s.t.Errorf("%+v, %v: %s", got, err, why)
		}
		c.Source = &protect.Source{Network: "tcp", Address: "127.0.0.1:1"}
		if err := s.engine.Follow(s.t.Context(), s.doer, r, c); err == nil || !strings.Contains(err.Error(), "no binary log") {
			s.t.Errorf("a replica of it: %v", err)
		}
	})
}
