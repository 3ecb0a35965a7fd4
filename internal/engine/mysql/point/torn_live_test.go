package point_test

import (
	"errors"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

// A snapshot that was taken while a transaction was being written to the binary log has a part of it. The server rolls that back, and where it
// stands is before it, wherever the part ends; the log that goes on from there replays it.
func TestTornLog(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		s.exec("INSERT INTO shop.t (v) VALUES ('a')")
		torn := []string{"gtid", "rows", "end"}
		var copies []protect.Copy
		var at protect.Position
		for _, name := range torn {
			c := s.at(name)
			copies, at = append(copies, c), c.Position
		}
		s.exec("INSERT INTO shop.t (v) VALUES ('b')")
		after, err := s.engine.Position(t.Context(), s.doer, s.target)
		if err != nil {
			t.Fatal(err)
		}
		file := path.Join(path.Dir(s.sv.Settings["log_bin_basename"]), at.File)
		text, err := os.ReadFile(file)
		if err != nil || int64(len(text)) != after.Offset {
			t.Fatalf("%d bytes, and the server stands at %d; %v", len(text), after.Offset, err)
		}
		for i, cut := range []int64{at.Offset + 21, (at.Offset + after.Offset) / 2, after.Offset - 1} {
			c := copies[i]
			r := s.torn(c, file, text[at.Offset:cut])
			is, err := s.engine.Stands(t.Context(), s.doer, r, c)
			if err != nil || is.File != at.File || is.Offset != at.Offset || is.GTID != at.GTID {
				t.Errorf("%s: it stands at %+v, %v; want %+v", torn[i], is, err, at)
			}
			if err := s.engine.Decided(t.Context(), r, c, false); err != nil {
				t.Errorf("%s: %v", torn[i], err)
			}
			if s.hasPrograms() {
				s.replays(r, c, is, 1)
			}
			r.stop()
		}
	})
}

// The same where the last checkpoint of the binary log is in the file before, so that a server recovers by both: MariaDB then tells a GTID
// that lies behind. Where the copy stands is told by its log.
func TestTornLogOfTwoFiles(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		if !strings.HasPrefix(s.sv.Product, "MariaDB") {
			t.Skip("MySQL has no checkpoints of its binary log")
		}
		s.exec("SET GLOBAL innodb_flush_log_at_timeout = 2700", "SET GLOBAL innodb_flush_log_at_trx_commit = 0")
		for range 20 {
			s.exec("INSERT INTO shop.t (v) VALUES ('a')", "DELETE FROM shop.t")
		}
		s.exec("INSERT INTO shop.t (v) VALUES ('a')", "FLUSH BINARY LOGS", "INSERT INTO shop.t (v) VALUES ('b')")
		c := s.at("torn")
		s.exec("INSERT INTO shop.t (v) VALUES ('c')")
		file := path.Join(path.Dir(s.sv.Settings["log_bin_basename"]), c.Position.File)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := s.torn(c, file, text[c.Position.Offset:c.Position.Offset+60])
		said, err := s.engine.Recovered(t.Context(), r, c)
		if err != nil {
			t.Fatal(err)
		}
		is, err := s.engine.Stands(t.Context(), s.doer, r, c)
		if err != nil || is.File != c.Position.File || is.Offset != c.Position.Offset || is.GTID != c.Position.GTID {
			t.Errorf("it stands at %+v, %v; want %+v", is, err, c.Position)
		}
		t.Logf("its server tells %s, the log %s", said.GTID, is.GTID)
		r.stop()
	})
}

// torn starts a copy whose log ends with a part of a transaction.
func (s *source) torn(c protect.Copy, file string, part []byte) running {
	t := s.t
	t.Helper()
	f, err := os.OpenFile(c.In(file), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(part)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = s.engine.Neutralise(t.Context(), s.doer, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.start(c)
}

// hasPrograms tells whether what replays a log is here: the other MariaDB is a server alone, without the mariadb-binlog of its release.
func (s *source) hasPrograms() bool { return s.options.Basedir == "" || s.options.Native }

// needPrograms skips a test where they are not.
func (s *source) needPrograms() {
	s.t.Helper()
	if !s.hasPrograms() {
		s.t.Skip("the other MariaDB is a server alone, without the mariadb-binlog of its release")
	}
}

// replays replays the rest of the log into a copy, which then has both rows.
func (s *source) replays(r running, c protect.Copy, is protect.Position, transactions int) {
	t := s.t
	t.Helper()
	w, err := s.engine.Way(t.Context(), s.doer, s.sv, replay.Start{Position: is}, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
	if err == nil {
		err = s.engine.Replay(t.Context(), s.doer, r, c, w)
	}
	if err != nil || w.Count != transactions {
		t.Errorf("%+v, %v", w, err)
	}
	if n := r.number(t, "SELECT COUNT(*) FROM shop.t"); n != 2 {
		t.Errorf("it has %d rows, not both", n)
	}
}
