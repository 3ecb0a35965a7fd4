package point_test

import (
	"maps"
	"strings"
	"testing"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// Without a lock a copy starts too, has every commit that was acknowledged before, and stands at least where the
// server said that it stood; that it does not is seen.
func TestCrashPointUnderLoad(t *testing.T) {
	onEachWith(t, func(_ *sandbox.Box, o *sandbox.MySQLOptions) { o.Settings += "sync_binlog = 1\n" }, func(s *source) {
		done, stop := s.load()
		if m := s.mode(protect.ModeCrash, protect.Set{}); m.Not != "" {
			s.t.Fatal(m.Not)
		}
		acknowledged := done.Load()
		at, err := s.engine.Position(s.t.Context(), s.doer, s.target)
		if err != nil {
			s.t.Fatal(err)
		}
		root := s.image("copy")
		stop()
		c := s.copyOf(root, at)
		if err := s.engine.Neutralise(s.t.Context(), s.doer, c); err != nil {
			s.t.Fatal(err)
		}
		r := s.start(c)
		if n := r.number(s.t, "SELECT COUNT(*) FROM shop.t"); n < acknowledged {
			s.t.Errorf("the copy has %d rows, and %d were acknowledged", n, acknowledged)
		}
		if got, err := s.engine.Recovered(s.t.Context(), r, c); err != nil || got.GTID == "" || got.File == "" {
			s.t.Errorf("%+v, %v", got, err)
		}
		s.sound(r, c, true)
		s.apart(r, c)
		s.least(r, c)
	})
}

// least wants that a copy that stands before its point is found, where that can be judged.
func (s *source) least(r running, c protect.Copy) {
	s.t.Helper()
	first := func(what string, c protect.Copy) protect.Check {
		is, err := s.engine.Recovered(s.t.Context(), r, c)
		if err != nil {
			s.t.Fatal(err)
		}
		got, err := s.engine.Reached(s.t.Context(), r, c, is)
		if err != nil || !strings.HasPrefix(got.What, "recovered at least to ") {
			s.t.Fatalf("%s: %+v, %v", what, got, err)
		}
		return got
	}
	if got := first("the point", c); got.Wrong+got.Unknown != "" {
		s.t.Errorf("%+v", got)
	}
	further := c
	further.Position.Offset += 1 << 30
	if got := first("further", further); got.Wrong == "" {
		s.t.Errorf("%+v", got)
	}
	if s.sv.Identity != "" { // MySQL
		more := c
		more.Position.GTID += ",00000000-0000-0000-0000-000000000001:1-7"
		if got := first("GTIDs of another", more); !strings.Contains(got.Wrong, "GTID") {
			s.t.Errorf("%+v", got)
		}
	}
	further.Server.Settings = maps.Clone(c.Server.Settings)
	further.Server.Settings["sync_binlog"] = "0"
	if got := first("not synced", further); got.Wrong != "" || got.Unknown == "" {
		s.t.Errorf("%+v", got)
	}
}
