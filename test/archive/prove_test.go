package archive

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// prove has the newest base proven, and sees that nothing of it is left.
func (s *site) prove(code int) string {
	s.t.Helper()
	scratch := filepath.Join(s.dir, "p")
	must(s.t, os.MkdirAll(scratch, 0o755))
	out := s.plumb(code, append([]string{"verify", "--from", s.url, "--identity", s.key, "--state", s.state, "--restore", scratch}, s.more...)...)
	for _, dir := range []string{scratch, s.state + "-copies"} {
		left, err := os.ReadDir(dir)
		if err == nil && len(left) > 0 {
			s.t.Errorf("left in %s: %v", dir, left)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || bytes.Contains(mounts, []byte(s.state+"-copies")) {
		s.t.Errorf("left mounted: %v\n%s", err, mounts)
	}
	if out, err := exec.Command("pgrep", "-a", "-r", "D,R,S,T", "-u", "plumb-verify").Output(); err == nil {
		s.t.Errorf("left running: %s", out)
	}
	return out
}

func (s *site) list() string {
	s.t.Helper()
	return s.plumb(0, append([]string{"backup", "list", "--from", s.url, "--state", s.state}, s.more...)...)
}

// TestPostgreSQLBaseIsProven has bases started with what was archived behind them. One of which the log is not there
// is none, and that is found out.
func TestPostgreSQLBaseIsProven(t *testing.T) {
	sandbox.VerifyAccount(t)
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)", "INSERT INTO t SELECT generate_series(1, 100000)"))
	c.base()
	must(t, c.server.Exec("INSERT INTO t SELECT generate_series(1, 100000)", "CREATE INDEX ON t (i)"))
	at := c.ask("SELECT pg_current_wal_insert_lsn()")
	c.archived()
	out := c.prove(0)
	says(t, out, "it started, and all checks passed", "has been removed")
	if got := recoveredTo(out); lsn(got) < lsn(at) {
		t.Errorf("it recovered to %q, and %s is archived:\n%s", got, at, out)
	}
	silent(t, c.list(), "no log archived for it")
	says(t, c.list(), "a server started on it on")

	logs, err := filepath.Glob(c.store + "/archive/postgres-*/wal")
	must(t, err)
	must(t, os.RemoveAll(logs[0]))
	says(t, c.prove(1), "nothing of the archive is replayed", "did not start", "has been removed")
	says(t, c.list(), "a server failed to start on it", "no log archived for it, without which no server starts on it")

	must(t, os.RemoveAll(c.store+"/archive"))
	whole := fmt.Sprintf("pg_basebackup -h %s -U postgres -D - -Ft -X fetch -c fast", c.server.Socket)
	c.plumb(0, append([]string{"backup", "--command", whole, "--to", c.url, "--recipient", c.recipient, "--state", c.state}, c.more...)...)
	says(t, c.prove(0), "it started, and all checks passed") // it has what it needs of the log itself
}

// silent tells whether something is not said.
func silent(t *testing.T, got, what string) {
	t.Helper()
	if strings.Contains(strings.Join(strings.Fields(got), " "), what) {
		t.Errorf("%q is in\n%s", what, got)
	}
}

// recoveredTo gives the place in the log that a proof tells.
func recoveredTo(out string) string {
	_, rest, _ := strings.Cut(strings.Join(strings.Fields(out), " "), "recovered position LSN ")
	return strings.Trim(strings.SplitN(rest+" ", " ", 2)[0], ",;")
}

// TestMariaDBBaseIsProven has a base started: with what was archived behind it, without any, and of one that is a part of a server.
func TestMariaDBBaseIsProven(t *testing.T) {
	sandbox.VerifyAccount(t)
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO test.t VALUES (1)"))
	m.base()
	must(t, m.server.Exec("INSERT INTO test.t VALUES (2)"))
	m.archived()
	says(t, m.prove(0), "it started, and all checks passed", "has been removed")
	silent(t, m.list(), "no log archived for it")
	says(t, m.list(), "a server started on it on")

	m.end()
	must(t, os.RemoveAll(m.store+"/archive"))
	says(t, m.list(), "no log archived for it, signed by")
	says(t, m.prove(0), "nothing of the archive is replayed", "it started, and all checks passed")

	part := fmt.Sprintf("mariadb-backup --no-defaults --backup --stream=mbstream --user=root --socket=%s --datadir=%s --target-dir=%s --databases-exclude=mysql", m.server.Socket, m.server.Dir, t.TempDir())
	m.plumb(0, "backup", "--command", part, "--to", m.url, "--recipient", m.recipient, "--state", m.state)
	says(t, m.prove(3), "contains no data of a server")
}
