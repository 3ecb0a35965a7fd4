package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plumb/test/sandbox"
)

// TestPostgreSQLBaseOfFormerStandby restores a server that has the settings of the standby, and of the recovery, that it was before: they
// have no part in this recovery, and none of their commands is run by a copy. Since the base it was started with more connections.
func TestPostgreSQLBaseOfFormerStandby(t *testing.T) {
	s := newSite(t)
	ran := filepath.Join(s.dir, "ran")
	must(t, os.Mkdir(ran, 0o777))
	must(t, os.Chmod(ran, 0o777))
	c := s.cluster(fmt.Sprintf("max_connections = 20\nmax_wal_senders = 5\nrecovery_target_time = '2001-01-01 00:00:00+00'\nrecovery_min_apply_delay = '1h'\n"+
		"archive_cleanup_command = 'touch %[1]s/cleanup'\nrecovery_end_command = 'touch %[1]s/end'\n", ran))
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.base()
	must(t, c.server.Exec("INSERT INTO t VALUES (1)", "ALTER SYSTEM SET max_connections = 60"))
	must(t, c.server.Stop())
	var err error
	c.server, err = c.box.Postgres(sandbox.PostgresOptions{Datadir: c.server.Dir})
	must(t, err)
	c.open()
	must(t, c.server.Exec("INSERT INTO t VALUES (2)"))
	c.archived()
	must(t, c.server.Stop())
	dir := filepath.Join(c.dir, "restored")
	for _, more := range [][]string{nil, {"--replace"}} {
		says(t, c.restore(0, dir, append([]string{"--to", "latest"}, more...)...), "Restored backup", "before a standby is made of it")
		ask, stop := c.restored(dir)
		if got := ask("SELECT string_agg(i::text, ',' ORDER BY i) || ' ' || current_setting('max_connections') FROM t"); got != "1,2 20" {
			t.Errorf("%q: it has %s", more, got)
		}
		if got := ask("SELECT current_setting('archive_cleanup_command') || current_setting('recovery_end_command')"); (got == "") != (more == nil) {
			t.Errorf("%q: it runs %q", more, got)
		}
		if left, _ := filepath.Glob(ran + "/*"); more == nil && len(left) > 0 {
			t.Errorf("it ran what made %q", left)
		}
		stop()
	}
}
