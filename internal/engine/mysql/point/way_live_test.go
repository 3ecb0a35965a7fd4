package point_test

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
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
		if s.options.Native {
			t.Skip("the GTIDs of MySQL are sets, and its later releases have no RESET MASTER")
		}
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
