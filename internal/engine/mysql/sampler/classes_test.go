package sampler

import (
	"testing"

	"plumb/internal/series"
)

// TestCommitsInAGroupWaitForTheLog: a session whose commit another session writes waits for the log, whether the conditions of the
// performance schema are on, and name what it waits on, or off. The names are those of sql/mysqld.cc of MariaDB 11 and MySQL 8.0.
func TestCommitsInAGroupWaitForTheLog(t *testing.T) {
	for _, l := range []look{
		{state: "Commit", timed: true},
		{state: "Commit", event: "wait/synch/cond/sql/THD::COND_wakeup_ready", timed: true},
		{state: "Commit", event: "wait/synch/cond/sql/wait_for_commit::COND_wait_commit", timed: true},
		{state: "waiting for handler commit", event: "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done", timed: true},
	} {
		if got := l.class(); got != series.ClassLog {
			t.Errorf("%+v: %s, want %s", l, got, series.ClassLog)
		}
	}
	if got := (look{event: "wait/synch/cond/sql/COND_manager", timed: true}).class(); got != series.ClassLatch {
		t.Errorf("another condition: %s", got)
	}
}

// TestMetadataLocksAreLocks: the names are those of MDL_key::m_namespace_to_wait_state_name in sql/mdl.cc of MySQL 8.0.
func TestMetadataLocksAreLocks(t *testing.T) {
	for _, of := range []string{"global read", "backup", "tablespace metadata", "schema metadata", "table metadata", "stored function metadata", "stored procedure metadata",
		"trigger metadata", "event metadata", "commit", "locking service", "spatial reference system", "acl cache", "column statistics", "resource groups metadata",
		"foreign key metadata", "check constraint metadata"} {
		if got := (look{state: "Waiting for " + of + " lock", timed: true}).class(); got != series.ClassLock {
			t.Errorf("%s: %s", of, got)
		}
	}
}

// TestAConditionIsNoLatchWhereTheStateSaysMore: a session that waits for a lock of a MyISAM table waits on the condition of its thread.
func TestAConditionIsNoLatchWhereTheStateSaysMore(t *testing.T) {
	for _, c := range []struct {
		state, event string
		want         series.Class
	}{
		{"Waiting for table level lock", "wait/synch/cond/mysys/my_thread_var::suspend", series.ClassLock},
		{"Sending data", "wait/synch/cond/mysys/my_thread_var::suspend", series.ClassLatch},
		{"Waiting for table level lock", "wait/synch/mutex/innodb/trx_mutex", series.ClassLatch},
		{"Commit", "wait/io/file/innodb/innodb_data_file", series.ClassWrite},
	} {
		if got := (look{state: c.state, event: c.event, operation: "write", timed: true}).class(); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.state, c.event, got, c.want)
		}
	}
}
