package archive

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPostgreSQLTimelineLeft brings a server back to amid a segment, where it goes on on a timeline of its own, and loses that server
// too: once when only its history is archived, once when what it wrote is. What the first had written behind the place is not in
// either, though the archive has it in the same segment.
func TestPostgreSQLTimelineLeft(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.base()
	must(t, c.server.Exec("INSERT INTO t VALUES (1)"))
	to := c.ask("SELECT pg_current_wal_insert_lsn()")
	must(t, c.server.Exec("INSERT INTO t VALUES (2)", "CREATE TABLE mistake (i INT)"))
	c.archived()
	must(t, syscall.Kill(c.server.PID, syscall.SIGINT))
	c.eventually("the server ends", func() bool { return syscall.Kill(c.server.PID, 0) != nil })

	first, aside := filepath.Join(c.dir, "first"), filepath.Join(c.dir, "aside")
	must(t, os.Mkdir(aside, 0o755))
	says(t, c.restore(0, first, "--to", to), "Restored backup")
	ask, stop := c.restored(first)
	ask("WITH n AS (INSERT INTO t VALUES (100) RETURNING i) SELECT i::text FROM n")
	segment := ask("SELECT pg_walfile_name(pg_switch_wal())")
	for _, name := range []string{"00000002.history", segment} {
		text, err := os.ReadFile(filepath.Join(first, "pg_wal", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(aside, name), text, 0o644))
	}
	stop()
	push := func(name string) {
		c.plumb(0, "archive", "push", filepath.Join(aside, name), "--socket", c.socket, "--data", c.server.Dir)
	}
	brought := func(want, says2 string) {
		t.Helper()
		dir := filepath.Join(c.dir, "second")
		says(t, c.restore(0, dir, "--to", "latest"), "Restored backup", says2)
		ask, stop := c.restored(dir)
		if got := ask("SELECT string_agg(i::text, ',' ORDER BY i) || ' ' || (to_regclass('mistake') IS NULL)::text FROM t"); got != want {
			t.Errorf("there are %s, and %s are to be", got, want)
		}
		stop()
	}
	push("00000002.history")
	brought("1 true", "where another timeline begins: "+segment+" is not in it")
	push(segment)
	brought("1,100 true", "transactions after the base")
}
