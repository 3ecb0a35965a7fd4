package sampler

import (
	"fmt"
	"slices"
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestAPreparedTransactionBlocks: it has no session that could be named, and that is said.
func TestAPreparedTransactionBlocks(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings + "\nmax_prepared_transactions = 2"})
	l.Exec("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)")
	l.Held("BEGIN", "UPDATE t SET v = 2", "PREPARE TRANSACTION 'forgotten'")
	l.Later(l.Held(), "UPDATE t SET v = 3")
	told := func(b series.Batch) bool {
		return slices.ContainsFunc(b.Gaps, func(g series.Gap) bool { return g.Name == "blocked_by" && g.Hint != "" })
	}
	l.Until("sessions", "that it is said who blocks", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 1 && told(b) })
	l.Exec("ROLLBACK PREPARED 'forgotten'")
	if b := l.Until("sessions", "that nobody waits", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 0 }); told(b) {
		t.Errorf("gaps: %+v", b.Gaps)
	}
}

// TestActivityIsNotTracked: a session that does not say what it does is active while it waits for anything but its client, and is listed.
func TestActivityIsNotTracked(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings})
	idle, busy := l.Held("SET track_activities = off"), l.Held("SET track_activities = off")
	rests, works := l.idOf(idle), l.idOf(busy)
	l.Later(busy, "SELECT pg_sleep(600)")
	defer func() { l.Exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", works)) }()
	listed := func(b series.Batch, id int64) bool {
		return slices.ContainsFunc(b.Sessions, func(s series.Session) bool { return s.ID == id && s.Active })
	}
	// The one that rests is counted as active too until it waits for its client.
	b := l.Until("sessions", "one that works, and one that rests", func(b series.Batch) bool {
		return samplertest.Reads(b, "sessions_active") == 1 && samplertest.Reads(b, "sessions_other") == 1 && listed(b, works)
	})
	if listed(b, rests) {
		t.Errorf("%d works, %d rests: %+v", works, rests, b.Sessions)
	}
}
