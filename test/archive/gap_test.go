package archive

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPostgreSQLGapIsTold has archiving off for a while, as it often is while something is repaired. The status tells that the archive
// lacks what was written meanwhile, also when the service was started again, until a base is backed up.
func TestPostgreSQLGapIsTold(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.base()
	c.archived()
	says(t, c.plumb(0, "archive", "status", "--state", c.state), "write-ahead log")
	line := c.ask("SHOW archive_command")
	setting := func(to string) {
		t.Helper()
		must(t, c.server.Exec("ALTER SYSTEM SET archive_command = '"+strings.ReplaceAll(to, "'", "''")+"'", "SELECT pg_reload_conf()"))
		c.eventually("the server archives by "+to, func() bool { return c.ask("SHOW archive_command") == to })
	}
	setting("/bin/true")
	must(t, c.server.Exec("INSERT INTO t VALUES (1)"))
	lost := c.ask("SELECT pg_walfile_name(pg_switch_wal())")
	c.eventually("the server takes it for archived", func() bool {
		return c.ask("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver") == lost
	})
	setting(line)
	must(t, c.server.Exec("INSERT INTO t VALUES (2)"))
	c.archived()
	told := func(why string) {
		t.Helper()
		c.eventually(why, func() bool { return strings.Contains(c.status(), lost+" of postgres-") })
		says(t, c.plumb(1, "archive", "status", "--state", c.state), "the log broke off at", "earlier base backups cannot be recovered beyond that: take a new one")
	}
	again := func() {
		t.Helper()
		c.end()
		c.mu.Lock()
		c.told.Reset() // or the first service would be taken for the next
		c.mu.Unlock()
		c.serve("--wal-user", c.user)
	}
	told("the gap is told")
	again()
	told("the next service tells of it")
	began := time.Now()
	c.eventually("the base begins in another second", func() bool { return time.Since(began) > 1100*time.Millisecond })
	c.base()
	again()
	for range 2 { // by the second the service has looked, as the first joins on to nothing that it knows
		must(t, c.server.Exec("INSERT INTO t VALUES (3)"))
		c.archived()
	}
	if got := c.status(); strings.Contains(got, "broke off") {
		t.Errorf("behind a newer base: %s", got)
	}
	c.plumb(0, "archive", "status", "--state", c.state)
}

// status is what archive status says, whatever that is.
func (c *cluster) status() string {
	out, _ := exec.Command(built.Path, "archive", "status", "--state", c.state).CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " ")
}
