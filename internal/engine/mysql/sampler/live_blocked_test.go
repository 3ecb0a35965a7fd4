package sampler

import (
	"slices"
	"testing"
	"time"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestWhoHoldsATable: a reader in an open transaction has an ALTER TABLE wait, and that one a reader who comes later. Where the server does
// not say so, that is a gap.
func TestWhoHoldsATable(t *testing.T) {
	for name, settings := range map[string]string{"Told": allOn + "\nperformance_schema_instrument = 'wait/lock/metadata/sql/mdl=ON'", "NotTold": allOn, "Off": ""} {
		t.Run(name, func(t *testing.T) {
			l := start(t, sandbox.MySQLOptions{Settings: settings})
			l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
			holder, changer, reader := l.Held("BEGIN", "SELECT * FROM shop.t"), l.Held(), l.Held()
			holds, changes, reads := l.idOf(holder), l.idOf(changer), l.idOf(reader)
			l.Later(changer, "ALTER TABLE shop.t ADD COLUMN v INT")
			l.Until("sessions", "that the change waits", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 1 })
			l.Later(reader, "SELECT * FROM shop.t")
			b := l.Until("sessions", "that both wait", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 2 })
			by := map[int64][]int64{}
			for _, s := range b.Sessions {
				by[s.ID] = s.BlockedBy
			}
			gap := slices.ContainsFunc(b.Gaps, func(g series.Gap) bool { return g.Name == "blocked_by" && g.Hint != "" })
			told := name == "Told"
			if chain := slices.Equal(by[changes], []int64{holds}) && slices.Equal(by[reads], []int64{changes}); chain != told || gap == told {
				t.Errorf("%d holds, %d changes, %d reads: %v; gaps %+v", holds, changes, reads, by, b.Gaps)
			}
			l.heldEnd(holder)
			l.Until("sessions", "that nobody waits", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 0 })
		})
	}
}

// TestWhoLockedTables: a session that locked a table and does nothing since is in no transaction, and is shown all the same.
func TestWhoLockedTables(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{Settings: allOn + "\nperformance_schema_instrument = 'wait/lock/metadata/sql/mdl=ON'"})
	l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
	holder, reader := l.Held("LOCK TABLES shop.t WRITE"), l.Held()
	holds, reads := l.idOf(holder), l.idOf(reader)
	l.Later(reader, "SELECT * FROM shop.t")
	l.Until("sessions", "who locked the table", func(b series.Batch) bool {
		shown := slices.ContainsFunc(b.Sessions, func(s series.Session) bool { return s.ID == holds && !s.Active && s.InTx == 0 })
		return shown && slices.ContainsFunc(b.Sessions, func(s series.Session) bool { return s.ID == reads && slices.Equal(s.BlockedBy, []int64{holds}) })
	})
	if _, err := holder.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Error(err)
	}
}

// TestAReplicaThatWaitsIsIdle: the appliers of a MySQL that has nothing to apply run no statement of a client, though they look as if they did.
func TestAReplicaThatWaitsIsIdle(t *testing.T) {
	sandbox.NeedTime(t, "MySQL is fetched: PLUMB_REAL=1")
	base, loader, err := sandbox.MySQLTree()
	sandbox.Need(t, err)
	for name, settings := range map[string]string{"On": "performance_schema_consumer_events_waits_current = ON", "Off": "performance_schema = OFF"} {
		t.Run(name, func(t *testing.T) {
			l := start(t, sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Settings: settings})
			l.Exec("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_USER = 'nobody'", "START REPLICA SQL_THREAD")
			for appliers := 0; appliers == 0; time.Sleep(l.Pause) {
				sandbox.Need(t, l.DB.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'system user' AND COMMAND = 'Query'").Scan(&appliers))
			}
			l.Until("sessions", "that none is active", func(b series.Batch) bool { return samplertest.Reads(b, "sessions_active") == 0 })
			l.Exec("STOP REPLICA")
		})
	}
}
