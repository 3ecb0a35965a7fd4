package archive

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"plumb/test/sandbox"
)

// TestMariaDBDiedInATransaction has a server die while it writes a transaction to its log, which it rolls back when it starts again. What it
// commits then is restored, and nothing of that transaction.
func TestMariaDBDiedInATransaction(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB"))
	m.base()
	must(t, m.server.Exec("INSERT INTO test.t VALUES (1)"))
	m.archived()
	m.end()
	conn, err := m.db.Conn(t.Context())
	must(t, err)
	for _, line := range []string{"BEGIN", "INSERT INTO test.t VALUES (2)", "INSERT INTO test.t VALUES (3)", "COMMIT"} {
		_, err := conn.ExecContext(context.Background(), line)
		must(t, err)
	}
	must(t, m.server.Kill())
	m.eventually("the server is gone", func() bool { return syscall.Kill(m.server.PID, 0) != nil })
	log := filepath.Join(m.server.Dir, "binlog.000001")
	st, err := os.Stat(log)
	must(t, err)
	const commit = 19 + 8 + 4
	must(t, os.Truncate(log, st.Size()-commit-5)) // amid the last statement
	m.server, err = m.box.MySQL(sandbox.MySQLOptions{Name: "again", Datadir: m.server.Dir, Settings: "log_bin = binlog\nserver_id = 7"})
	must(t, err)
	_ = m.db.Close()
	m.db, err = m.server.Open()
	must(t, err)
	must(t, m.server.Exec("INSERT INTO test.t VALUES (4)"))
	m.follow()
	m.archived()
	dir := filepath.Join(m.dir, "restored")
	says(t, m.restore(0, dir, "--to", "latest"), "Restored backup", "the server died in the transaction at binlog.000001:")
	if got := m.rows(dir, "SELECT GROUP_CONCAT(i ORDER BY i) FROM test.t"); got != "1,4" {
		t.Errorf("there are %s, and there were 1,4", got)
	}
}
