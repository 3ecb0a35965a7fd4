package archive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMariaDBDomains restores a server whose log has several domains, one of which was last written to before the file in which the base
// ends, and one first behind the base, and two servers in one of them, as behind a failover.
func TestMariaDBDomains(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB"))
	rows := 0
	commit := func(domain, server int) (gtid string) {
		t.Helper()
		conn, err := m.db.Conn(context.Background())
		must(t, err)
		defer conn.Close()
		rows++
		for _, line := range []string{fmt.Sprintf("SET SESSION gtid_domain_id = %d", domain), fmt.Sprintf("SET SESSION server_id = %d", server), fmt.Sprintf("INSERT INTO test.t VALUES (%d)", rows)} {
			_, err := conn.ExecContext(context.Background(), line)
			must(t, err)
		}
		must(t, conn.QueryRowContext(context.Background(), "SELECT @@last_gtid").Scan(&gtid))
		for _, line := range []string{"SET SESSION gtid_domain_id = 0", "SET SESSION server_id = 7"} {
			_, err := conn.ExecContext(context.Background(), line)
			must(t, err)
		}
		return gtid
	}
	commit(1, 7)
	must(t, m.server.Exec("FLUSH BINARY LOGS"))
	commit(0, 7)
	commit(0, 8)
	m.base()
	commit(2, 7)
	to := commit(1, 7)
	commit(0, 7)
	must(t, m.server.Exec("FLUSH BINARY LOGS"))
	commit(2, 8)
	commit(0, 8)
	m.archived()
	m.end()
	dir := filepath.Join(m.dir, "restored")
	for moment, want := range map[string]string{"latest": "1,2,3,4,5,6,7,8", to: "1,2,3,4"} {
		says(t, m.restore(0, dir, "--to", moment), "Restored backup")
		if got := m.rows(dir, "SELECT GROUP_CONCAT(i ORDER BY i) FROM test.t"); got != want {
			t.Errorf("--to %s: there are %s, and there were %s", moment, got, want)
		}
		must(t, os.RemoveAll(dir))
	}
}
