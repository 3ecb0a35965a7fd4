package point_test

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/test/sandbox"
)

// fill empties the log of a server, and has it write as many bytes and GTIDs as each time before.
func (s *source) fill() {
	s.t.Helper()
	s.exec("RESET MASTER", "INSERT INTO shop.t (v) VALUES ('a')", "INSERT INTO shop.t (v) VALUES ('b')", "INSERT INTO shop.t (v) VALUES ('c')")
}

// rotated wants that a file is not taken for another because a session says that it was made later.
func (s *source) rotated() {
	t := s.t
	t.Helper()
	conn, _ := s.session()
	defer conn.Close()
	for _, q := range []string{"SET timestamp = UNIX_TIMESTAMP() + 5000", "FLUSH BINARY LOGS"} {
		if _, err := conn.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	at, err := s.engine.Position(t.Context(), s.doer, s.target)
	if err != nil {
		t.Fatal(err)
	}
	s.exec("INSERT INTO shop.t (v) VALUES ('e')")
	w, err := s.engine.Way(t.Context(), s.doer, s.sv, replay.Start{Position: at, Until: time.Now()}, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
	if err != nil || w.Count != 1 || len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "it was made at") {
		t.Errorf("a file that a session says was made later: %+v, %v", w, err)
	}
}

// A log that was reset and written anew has the file, the place and the GTIDs of a point: when it was made tells that it is another. Where
// clocks tell nothing, GTIDs do: those that were read under a lock are the last before the place, others none that is later.
func TestAnotherLogHasThePlace(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		if s.options.Native {
			t.Skip("the GTIDs of MySQL are sets, and its later releases have no RESET MASTER")
		}
		s.fill()
		at, err := s.engine.Position(t.Context(), s.doer, s.target)
		if err != nil {
			t.Fatal(err)
		}
		until := time.Now()
		time.Sleep(1100 * time.Millisecond) // a log tells whole seconds
		s.fill()
		if now, err := s.engine.Position(t.Context(), s.doer, s.target); err != nil || now != at || at.GTID != "0-7-3" {
			t.Fatalf("the log has not come to the place again: %+v, and %+v before; %v", now, at, err)
		}
		s.exec("INSERT INTO shop.t (v) VALUES ('d')")
		from := func(gtid string, apart bool, until time.Time) replay.Start {
			p := at
			p.GTID = gtid
			return replay.Start{Position: p, Apart: apart, Until: until}
		}
		for name, c := range map[string]struct {
			from replay.Start
			want string
		}{
			"place alone":                    {from("", false, time.Time{}), ""},
			"place and GTIDs":                {from(at.GTID, false, time.Time{}), ""},
			"place, GTIDs and time":          {from(at.GTID, false, until), "it was made at"},
			"place and time":                 {from("", true, until), "it was made at"},
			"a point of this log":            {from(at.GTID, false, time.Now()), ""},
			"a lesser GTID under a lock":     {from("0-7-2", false, time.Now()), "0-7-2 is not the last of its domain"},
			"a greater GTID under a lock":    {from("0-7-4", false, time.Now()), "0-7-4 is not the last of its domain"},
			"a lesser GTID without a lock":   {from("0-7-2", true, time.Now()), "it has 0-7-3, and the server had come no further than 0-7-2"},
			"a greater GTID without a lock":  {from("0-7-4", true, time.Now()), ""},
			"GTIDs of others without a lock": {from("0-8-1,5-7-1", true, time.Now()), ""},
		} {
			w, err := s.engine.Way(t.Context(), s.doer, s.sv, c.from, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
			if c.want == "" && (err != nil || w.Count != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "") {
				t.Errorf("%s: %+v, %v", name, w, err)
			}
		}
		s.rotated()
		p := protect.Point{Mode: protect.ModeLocked, Label: protect.Proven, Position: at, Times: protect.Times{Ended: until}}
		if _, err := s.engine.Way(t.Context(), s.doer, s.sv, replay.StartOf(p), replay.Target{Text: "the end", Time: time.Now()}); err == nil {
			t.Error("a point of the log that was reset leads on")
		}
	})
}

// The log of a copy is compared with the server's, byte by byte, before it is replayed: whatever places, GTIDs and times say.
func TestLogsAreCompared(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		if s.options.Native {
			t.Skip("the GTIDs of MySQL are sets, and its later releases have no RESET MASTER")
		}
		s.needPrograms()
		s.fill()
		c := s.at("copy")
		if err := s.engine.Neutralise(t.Context(), s.doer, c); err != nil {
			t.Fatal(err)
		}
		r := s.start(c)
		at, err := s.engine.Recovered(t.Context(), r, c)
		if err != nil {
			t.Fatal(err)
		}
		replayed := func() error {
			w, err := s.engine.Way(t.Context(), s.doer, s.sv, replay.Start{Position: at}, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			w.Count = 0 // nothing is played: only what comes before and behind that
			return s.engine.Replay(t.Context(), s.doer, r, c, w)
		}
		if err := replayed(); err != nil {
			t.Errorf("the log of the point: %v", err)
		}
		time.Sleep(1100 * time.Millisecond) // a log tells whole seconds
		s.fill()
		if err := replayed(); err == nil || !strings.Contains(err.Error(), at.File+" of the point is not the beginning of the server's") {
			t.Errorf("another log: %v", err)
		}
	})
}

// The sets of MySQL tell a log that was reset and written anew from the point's, also where GTIDs have tags: they are read as the
// server wrote them.
func TestAnotherLogOfMySQL(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		if !s.options.Native {
			t.Skip("MariaDB has no sets of GTIDs")
		}
		conn, _ := s.session()
		defer conn.Close()
		tagged := func(v string) {
			for _, q := range []string{"SET SESSION gtid_next = 'AUTOMATIC:plumb'", "INSERT INTO shop.t (v) VALUES ('" + v + "')", "SET SESSION gtid_next = 'AUTOMATIC'"} {
				if _, err := conn.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
		}
		where := func() protect.Position {
			at, err := s.engine.Position(t.Context(), s.doer, s.target)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		s.exec("RESET BINARY LOGS AND GTIDS", "INSERT INTO shop.t (v) VALUES ('a')", "INSERT INTO shop.t (v) VALUES ('b')")
		tagged("c")
		amid := where() // uuid:1-2:plumb:1
		uuid, _, _ := strings.Cut(amid.GTID, ":")
		if want := uuid + ":1-2:plumb:1"; amid.GTID != want {
			t.Fatalf("it stands at %s, want %s", amid.GTID, want)
		}
		s.exec("FLUSH BINARY LOGS")
		head := where()
		s.exec("INSERT INTO shop.t (v) VALUES ('d')")
		tagged("e")
		for name, c := range map[string]struct {
			at    protect.Position
			gtids string
			apart bool
			count int
			want  string // an error
			note  string
		}{
			"amid a file":                   {amid, ":1-2:plumb:1", false, 2, "", ""},
			"one less":                      {amid, ":1:plumb:1", false, 0, uuid + ":2, which the server had not executed", ""},
			"one with a tag less":           {amid, ":1-2", false, 0, uuid + ":plumb:1, which the server had not executed", ""},
			"one less, and read apart":      {amid, ":1:plumb:1", true, 2, "", ""},
			"one more":                      {amid, ":1-3:plumb:1", false, 2, "", "had executed " + uuid + ":3"},
			"a new file":                    {head, ":1-2:plumb:1", false, 2, "", ""},
			"a new file, one less":          {head, ":1-2", false, 0, uuid + ":plumb:1, which", ""},
			"a new file, one less, apart":   {head, ":1-2", true, 0, uuid + ":plumb:1, which", ""},
			"a new file, of a server ahead": {head, ":1-2:plumb:1-7", false, 2, "", "had executed " + uuid + ":plumb:7"},
		} {
			from := replay.Start{Position: c.at, Apart: c.apart}
			from.GTID = uuid + c.gtids
			w, err := s.engine.Way(t.Context(), s.doer, s.sv, from, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "") || c.want == "" && (err != nil || w.Count != c.count) {
				t.Errorf("%s: %+v, %v", name, w, err)
			}
			if notes := strings.Join(w.Notes, "; "); (notes != "") != (c.note != "") || !strings.Contains(notes, c.note) {
				t.Errorf("%s: notes %q", name, notes)
			}
		}
		w, err := s.engine.Way(t.Context(), s.doer, s.sv, replay.Start{Position: amid}, replay.Target{Text: "a tag", GTID: uuid + ":plumb:2"})
		if err != nil || w.Count != 1 || w.After[0].GTID != uuid+":plumb:2" || w.Stop.GTID != uuid+":3" {
			t.Errorf("up to one with a tag: %+v, %v", w, err)
		}
	})
}

// A position that is read while others commit is in the log: what the log has of them already, the GTIDs may not have yet. Under a lock
// they have all of it.
func TestPositionsUnderLoad(t *testing.T) {
	onEachWith(t, func(_ *sandbox.Box, o *sandbox.MySQLOptions) { o.Settings += "sync_binlog = 1\n" }, func(s *source) {
		conn, _ := s.session()
		defer conn.Close()
		typed := func(statement string) {
			if _, err := conn.ExecContext(s.t.Context(), statement); err != nil {
				s.t.Fatal(err)
			}
		}
		_, stop := s.load()
		var all []replay.Start
		for i := range 40 {
			locked := i%2 == 0
			switch {
			case i%10 == 5:
				typed("FLUSH BINARY LOGS")
			case locked:
				typed("FLUSH TABLES WITH READ LOCK")
			}
			at, err := s.engine.Position(s.t.Context(), s.doer, s.target)
			if err != nil {
				s.t.Fatal(err)
			}
			typed("UNLOCK TABLES")
			all = append(all, replay.Start{Position: at, Apart: !locked, Until: time.Now()})
		}
		stop()
		for _, from := range all {
			w, err := s.engine.Way(s.t.Context(), s.doer, s.sv, from, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
			if err != nil || len(w.Notes) > 0 {
				s.t.Errorf("from %+v: %+v, %v", from, w.Notes, err)
			}
		}
	})
}
