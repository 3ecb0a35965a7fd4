package archive

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// lost is a machine that is gone, of which another machine has nothing but the store, the key that opens it, and the recovery sheet.
type lost struct {
	*site
	sheet string
	load  *loaded
	kept  mark // what was acknowledged before the log that was last seen in the archive
}

// backedUp types the backup of a base, under load, and keeps the sheet that it prints.
func (s *site) backedUp(server *sandbox.Server, database, line string) *lost {
	s.t.Helper()
	load := s.load(server, database)
	args := append([]string{"backup", "--command", line, "--to", s.url, "--recipient", s.recipient, "--state", s.state}, s.more...)
	return &lost{site: s, load: load, sheet: s.plumb(0, args...)}
}

// die lets the server and all that its machine had go, amid the load. archived waits until the log has what was committed up to now.
func (l *lost) die(server *sandbox.Server, archived func()) {
	t := l.t
	t.Helper()
	began := time.Now()
	l.load.mark(func() string { archived(); return "latest" })
	l.kept = l.load.marks[0]
	must(t, syscall.Kill(server.PID, syscall.SIGKILL))
	if rpo := time.Since(began); rpo > time.Minute {
		t.Errorf("what was committed %s before the end may be lost", rpo)
	}
	l.eventually("the server is gone", func() bool {
		return syscall.Kill(server.PID, 0) != nil && exec.Command("pgrep", "-g", fmt.Sprint(server.PID)).Run() != nil
	})
	l.load.end()
	l.kill()
	must(t, os.RemoveAll(server.Dir))
	must(t, os.RemoveAll(l.state))
}

// restoredElsewhere types what the sheet says on a machine with a state and a host key of its own. Without --trust nothing is believed.
func (l *lost) restoredElsewhere(dir string) {
	t := l.t
	t.Helper()
	line := regexp.MustCompile(`(?m)^  plumb (restore --from .*) --into \S+$`).FindStringSubmatch(l.sheet)
	instead := regexp.MustCompile(`with (--dir) \S+ (--user) USER (--to latest)`).FindStringSubmatch(strings.Join(strings.Fields(l.sheet), " "))
	if line == nil || instead == nil {
		t.Fatalf("the sheet has no such command:\n%s", l.sheet)
	}
	there := filepath.Join(l.dir, "there")
	if key := l.plumb(0, "backup", "key", "--state", there); strings.Contains(l.sheet, strings.TrimSpace(strings.Split(key, "\n")[1])) {
		t.Fatal("it is the same machine")
	}
	var typed []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line[1], -1) {
		typed = append(typed, cmp.Or(m[1], m[2]))
	}
	typed[slices.Index(typed, "key.txt")] = l.key
	typed = append(typed, instead[1], dir, instead[2], l.user, "--to", "latest", "--state", there)
	at := slices.Index(typed, "--trust")
	l.plumb(3, slices.Delete(slices.Clone(typed), at, at+2)...)
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("of a host that nobody trusts there is %q", left)
	}
	says(t, l.plumb(0, typed...), "Restored backup", "transactions after the base")
}

// loadRate is how many commits a second the load does: so many can be missing at the end of its ledger, which is written in turns.
const loadRate = 60

// verified sees that a restored server has all that was acknowledged before the log that was last seen in the archive. How much more it has is
// bounded by what the load did until the server died.
func (l *lost) verified(server *sandbox.Server, database string) {
	l.t.Helper()
	l.kept.most = l.load.acknowledged() + loadRate + loadThreads
	l.kept.verified(l.t, server, database)
}

// stores are those of the story: a directory, as a disk that is carried over, and a real server of S3.
var stores = map[string]func(*site){"a directory": func(*site) {}, "S3": (*site).toS3}

// TestPostgreSQLMachineLost loses the machine of a server under load, and restores it on another to the last commit that was archived.
func TestPostgreSQLMachineLost(t *testing.T) {
	for name, at := range stores {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			at(s)
			c := s.cluster("archive_timeout = 10s")
			l := c.backedUp(c.server, "postgres", c.baseLine())
			l.die(c.server, func() { c.archived() })
			dir := filepath.Join(c.dir, "restored")
			l.restoredElsewhere(dir)
			_, stop := c.restored(dir)
			l.verified(c.copy, "postgres")
			stop()
		})
	}
}

// TestMariaDBMachineLost does so with MariaDB.
func TestMariaDBMachineLost(t *testing.T) {
	for name, at := range stores {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			at(s)
			m := s.maria()
			must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test"))
			l := m.backedUp(m.server, "test", m.baseLine())
			l.die(m.server, m.archived)
			dir := filepath.Join(m.dir, "restored")
			l.restoredElsewhere(dir)
			m.rows(dir, "SELECT 1", func(s *sandbox.Server) { l.verified(s, "test") })
		})
	}
}
