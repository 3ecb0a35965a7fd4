package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestPostgreSQLBaseAlone restores a base that has the log that it needs as it was when it ended, where no log is archived, and where one is.
// Of a base without it no server starts alone, and that is refused.
func TestPostgreSQLBaseAlone(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)", "INSERT INTO t SELECT generate_series(1, 1000)"))
	whole := fmt.Sprintf("pg_basebackup -h %s -U postgres -D - -Ft -X fetch -c fast", c.server.Socket)
	c.plumb(0, "backup", "--command", whole, "--to", c.url, "--recipient", c.recipient, "--state", c.state)
	must(t, c.server.Exec("INSERT INTO t SELECT generate_series(1, 1000)"))
	c.base()
	c.archived()
	c.end()
	dir := filepath.Join(c.dir, "restored")
	id := c.ids()[0]
	says(t, c.restore(0, dir, id, "--to", "base", "--dry-run"), "would be brought to the moment it ended", "no archived log is replayed")
	must(t, c.server.Stop())
	c.alone(dir, id)

	must(t, os.RemoveAll(c.store+"/archive"))
	says(t, c.restore(3, dir, id, "--to", "latest"), "the archive has no WAL of the server", "hint: --to base restores it as it was when it ended")
	c.alone(dir, id)
	says(t, c.restore(2, dir, id, "--to", "base", "--timeline", "1"), "--to base replays no log")
	says(t, c.restore(3, dir, "--to", "base"), "it has no log, and no server starts on it without that")
	says(t, c.restore(3, dir, "--to", "latest"), "hint: no moment can be reached from this backup")
}

// alone restores the base, and looks whether its server has what was there when it ended.
func (c *cluster) alone(dir, id string) {
	c.t.Helper()
	c.restore(0, dir, id, "--to", "base")
	ask, stop := c.restored(dir)
	if got := ask("SELECT count(*) FROM t"); got != "1000" {
		c.t.Errorf("it has %s rows", got)
	}
	stop()
}

// TestMariaDBBaseAlone does the same with a base of MariaDB, which always has the log that it needs.
func TestMariaDBBaseAlone(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO test.t VALUES (1)"))
	m.base()
	must(t, m.server.Exec("INSERT INTO test.t VALUES (2)"))
	m.archived()
	m.end()
	must(t, os.RemoveAll(m.store+"/archive"))
	dir := filepath.Join(m.dir, "restored")
	says(t, m.restore(3, dir, "--to", "latest"), "the archive has no binary log", "hint: --to base restores it as it was when it ended")
	says(t, m.restore(0, dir, "--to", "base"), "no archived log is replayed", "it is at GTID")
	if got := m.rows(dir, "SELECT GROUP_CONCAT(i) FROM test.t"); got != "1" {
		t.Errorf("it has %s", got)
	}
}
