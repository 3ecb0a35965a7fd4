package point_test

import (
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/protect"
)

// A copy that is parted from its source follows nobody when it starts again, has no UUID of that, and begins a log. That of a replica which
// does not log what it applies is not replayed onto.
func TestParted(t *testing.T) {
	onEach(t, func(s *source) {
		t, ctx := s.t, s.t.Context()
		ask, follow := "SHOW ALL SLAVES STATUS", "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'"
		if s.options.Native {
			ask, follow = "SHOW REPLICA STATUS", "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'nobody'"
		}
		s.exec(follow, "INSERT INTO shop.t (v) VALUES ('a')")
		c := s.at("copy")
		c.Purpose = protect.ForReplay
		if err := s.engine.Neutralise(ctx, s.doer, c); err != nil {
			t.Fatal(err)
		}
		r := s.start(c)
		if rows, err := r.Query(ctx, ask); err != nil || len(rows.Values) != 1 {
			t.Fatalf("it follows nobody: %v, %v", rows, err)
		}
		err := s.engine.Decided(ctx, r, c, true)
		switch {
		case s.options.Native && err != nil: // which logs what it applies
			t.Error(err)
		case !s.options.Native && (err == nil || !strings.Contains(err.Error(), "replica without log_slave_updates") || hint.Of(err) == ""):
			t.Errorf("a replica that does not log what it applies: %v", err)
		}
		if err := s.engine.Unfollow(ctx, r, c.Server); err != nil {
			t.Error(err)
		}
		r.stop()
		if err := s.engine.Part(ctx, s.doer, c); err != nil {
			t.Error(err)
		}
		if err := s.engine.Purge(ctx, s.doer, c); err != nil {
			t.Error(err)
		}
		r = s.start(c)
		if rows, err := r.Query(ctx, ask); err != nil || len(rows.Values) != 0 {
			t.Errorf("it follows: %v, %v", rows, err)
		}
		if rows, err := r.Query(ctx, "SHOW BINARY LOGS"); err != nil || len(rows.Values) != 1 {
			t.Errorf("its logs are %v, %v", rows, err)
		}
		if n := r.number(t, "SELECT COUNT(*) FROM shop.t"); n != 1 {
			t.Errorf("it has %d rows", n)
		}
		if s.options.Native {
			if rows, err := r.Query(ctx, "SELECT 1 FROM DUAL WHERE @@server_uuid = '"+s.sv.Identity+"'"); err != nil || len(rows.Values) != 0 {
				t.Errorf("it has the UUID of its source: %v, %v", rows, err)
			}
		}
	})
}
