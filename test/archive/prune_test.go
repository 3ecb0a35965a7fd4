package archive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/prune"
	"plumb/internal/backup/store"
	mysqlpitr "plumb/internal/engine/mysql/pitr"
	postgrespitr "plumb/internal/engine/postgres/pitr"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect/keep"
	"plumb/internal/store/dir"
	"plumb/internal/store/s3"
)

const grace = 72 * time.Hour

// later is a store some days from now: nothing but the clock of this test is not real.
type later struct {
	store.Store
	by  time.Duration
	mu  sync.Mutex
	put map[string]bool // since then
}

func (l *later) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	l.mu.Lock()
	l.put[name] = true
	l.mu.Unlock()
	return l.Store.Put(ctx, name, data, o)
}

func (l *later) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	return l.Store.List(ctx, prefix, func(i store.Info) error {
		l.mu.Lock()
		if l.put[i.Name] {
			i.Modified = i.Modified.Add(l.by)
		}
		l.mu.Unlock()
		return each(i)
	})
}

// open opens the store of the site.
func (s *site) open() (store.Store, func()) {
	s.t.Helper()
	if strings.HasPrefix(s.url, "s3:") {
		b, err := s3.Open(s3.Options{Endpoint: s.more[1], Bucket: "backups", Prefix: "db1"})
		must(s.t, err)
		return b, func() {}
	}
	d, err := dir.Open(s.store)
	must(s.t, err)
	return d, func() { _ = d.Close() }
}

// pruneLater prunes some days from now, as plumb backup prune would.
func (s *site) pruneLater(by time.Duration, last int) prune.Done {
	s.t.Helper()
	ctx := s.t.Context()
	plain, end := s.open()
	defer end()
	do := hosttest.LiveDoer(s.t)
	var err error
	p := prune.Pruner{Grace: grace, Host: "later", Now: func() time.Time { return time.Now().Add(by) }, Products: []archive.Product{mysqlpitr.Engine{}, postgrespitr.Engine{}}}
	p.Sign, _, err = backup.HostKey(ctx, do, s.state, "later")
	must(s.t, err)
	p.Own, err = backup.OwnKeys(ctx, do, s.state)
	must(s.t, err)
	p.Vault, err = backup.Vault{Store: &later{Store: plain, by: by, put: map[string]bool{}}}.Own(ctx, do, s.state)
	must(s.t, err)
	o := prune.Options{Rules: keep.Rules{Last: last}}
	plan, err := p.Plan(ctx, o)
	must(s.t, err)
	done, err := p.Carry(ctx, plan, o)
	must(s.t, err)
	if len(done.Left) > 0 || len(done.Plan.Brakes) > 0 {
		s.t.Fatalf("%+v", done)
	}
	return done
}

// ids are those of the backups, oldest first.
func (s *site) ids() (ids []string) {
	s.t.Helper()
	all, err := filepath.Glob(s.store + "/backups/*/manifest")
	must(s.t, err)
	for _, name := range all {
		ids = append(ids, filepath.Base(filepath.Dir(name)))
	}
	slices.Sort(ids)
	return ids
}

// aside keeps a copy of a backup, and gives what brings it back, as from another store.
func (s *site) aside(id string) (back func()) {
	s.t.Helper()
	from, to := filepath.Join(s.store, "backups", id), filepath.Join(s.dir, "aside")
	must(s.t, os.CopyFS(to, os.DirFS(from)))
	return func() {
		s.t.Helper()
		must(s.t, os.RemoveAll(from))
		must(s.t, os.CopyFS(from, os.DirFS(to)))
	}
}

// twice marks by the command what goes, and removes it days later.
func (s *site) twice(last int, logs string) {
	s.t.Helper()
	args := append([]string{"backup", "prune", "--from", s.url, "--state", s.state, "--keep", fmt.Sprintf("last=%d", last)}, s.more...)
	page := s.plumb(0, append(args, "--dry-run")...)
	says(s.t, page, "Archived logs", logs, "marked", "the first that is kept: they are removed after the grace period")
	if left, _ := filepath.Glob(s.store + "/archive/*/begins"); len(left) > 0 {
		s.t.Errorf("a dry run wrote %q", left)
	}
	says(s.t, s.plumb(0, append(args, "--yes")...), "The log of "+logs, "is removed after the grace period")
	before, _ := filepath.Glob(s.store + "/archive/*/*/*/*/entry")
	s.plumb(0, append(args, "--yes")...) // again: nothing goes yet
	if now, _ := filepath.Glob(s.store + "/archive/*/*/*/*/entry"); len(now) < len(before) {
		s.t.Errorf("%d of %d pieces are left before the grace is over", len(now), len(before))
	}
	done := s.pruneLater(80*time.Hour, last)
	if len(done.Removed) != 1 || len(done.Logs) != 1 || done.Logs[0].Gone.Pieces == 0 {
		s.t.Fatalf("%+v", done)
	}
	s.t.Logf("%d pieces of the log with %d bytes went with the base", done.Logs[0].Gone.Pieces, done.Logs[0].Gone.Bytes)
}

// TestPostgreSQLPruned prunes a base with the log that it alone needs, while the server archives; the others reach all moments that they
// reached.
func TestPostgreSQLPruned(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	var moments []string
	n := 0
	write := func() {
		t.Helper()
		for range 3 {
			n++
			must(t, c.server.Exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", n)))
			c.archived()
		}
		moments = append(moments, c.ask("SELECT pg_current_wal_insert_lsn()"))
		must(t, c.server.Exec("INSERT INTO t VALUES (0)"))
		c.archived()
	}
	for range 3 {
		c.base()
		write()
	}
	system := "postgres-" + c.ask("SELECT system_identifier FROM pg_control_system()")
	ids := c.ids()
	back := c.aside(ids[0])
	c.twice(2, system)
	write() // the service goes on

	says(t, c.plumb(0, "archive", "status", "--state", c.state), "write-ahead log, up to")
	list := c.plumb(0, "archive", "list", "--from", c.url, "--state", c.state)
	says(t, list, system, "pruned before")
	if strings.Contains(list, "a gap") || strings.Contains(list, "not trusted") {
		t.Error(list)
	}
	dir := filepath.Join(c.dir, "restored")
	says(t, c.restore(3, dir, "--to", moments[0], "--dry-run"), "is before the base is whole", "the earliest moment that can be reached from the backups here is", "with backup "+ids[1])
	says(t, c.restore(3, dir, ids[1], "--to", moments[0], "--dry-run"), "is before the base is whole", "what lay before", "was pruned", "the earliest moment that can be reached from the backups here is", "with backup "+ids[1])
	says(t, c.restore(3, dir, ids[0], "--to", moments[0], "--dry-run"), "was pruned", "--undo "+ids[0])
	must(t, c.server.Stop())
	for i, to := range []string{moments[1], moments[2], moments[3], "latest"} {
		of := ids[1+min(i, 1)]
		says(t, c.restore(0, dir, of, "--to", to), "Restored backup "+of)
		ask, stop := c.restored(dir)
		want := min(6+3*i, 12)
		if got := ask("SELECT count(*) FROM t WHERE i > 0"); got != fmt.Sprint(want) {
			t.Errorf("at %s there are %s, and %d were written", to, got, want)
		}
		stop()
		must(t, os.RemoveAll(dir))
	}
	back()
	says(t, c.restore(3, dir, ids[0], "--to", moments[0], "--dry-run"), "in which the base backup begins, is not in the archive: what lay before", "was pruned at")
}

// TestPostgreSQLPrunedOnS3 does so in a bucket of a real server of S3.
func TestPostgreSQLPrunedOnS3(t *testing.T) {
	s := newSite(t)
	s.toS3()
	c := s.cluster("")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	for i := range 2 {
		c.base()
		must(t, c.server.Exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i)))
		c.archived()
	}
	to := c.ask("SELECT pg_current_wal_insert_lsn()")
	must(t, c.server.Exec("INSERT INTO t VALUES (2)"))
	c.archived()
	c.twice(1, "postgres-")
	list := c.plumb(0, append([]string{"archive", "list", "--from", c.url, "--state", c.state}, c.more...)...)
	if says(t, list, "pruned before"); strings.Contains(list, "a gap") || strings.Contains(list, "not trusted") {
		t.Error(list)
	}
	must(t, c.server.Stop())
	dir := filepath.Join(c.dir, "restored")
	says(t, c.restore(0, dir, "--to", to), "Restored backup")
	ask, stop := c.restored(dir)
	if got := ask("SELECT string_agg(i::text, ' ') FROM t"); got != "0 1" {
		t.Errorf("there are %s", got)
	}
	stop()
}

// TestMariaDBPruned does so with a binary log.
func TestMariaDBPruned(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT) ENGINE=InnoDB"))
	var moments []string
	n := 0
	write := func() {
		t.Helper()
		for range 3 {
			n++
			must(t, m.server.Exec(fmt.Sprintf("INSERT INTO test.t VALUES (%d)", n), "FLUSH BINARY LOGS"))
		}
		must(t, m.server.Exec("INSERT INTO test.t VALUES (0)"))
		var gtid string
		must(t, m.db.QueryRow("SELECT @@gtid_binlog_pos").Scan(&gtid))
		moments = append(moments, gtid)
		must(t, m.server.Exec("FLUSH BINARY LOGS"))
		m.archived()
	}
	var times []time.Time
	for range 3 {
		times = append(times, time.Now())
		m.base()
		write()
	}
	ids := m.ids()
	back := m.aside(ids[0])
	m.twice(2, "mysql")
	write()

	says(t, m.plumb(0, "archive", "status", "--state", m.state), "mysql, up to")
	list := m.plumb(0, "archive", "list", "--from", m.url, "--state", m.state)
	says(t, list, "mysql", "pruned before binlog.")
	if strings.Contains(list, "a gap") || strings.Contains(list, "not trusted") {
		t.Error(list)
	}
	dir := filepath.Join(m.dir, "restored")
	at := times[1].UTC().Truncate(time.Second).Format("2006-01-02 15:04:05 MST") // before the oldest that is left
	says(t, m.restore(3, dir, "--to", at, "--dry-run"), "is before the base", "what lay before binlog.", "was pruned", "the earliest moment that can be reached from the backups here is", "with backup "+ids[1])
	for i, to := range []string{moments[1], moments[2], moments[3], "latest"} {
		of := ids[1+min(i, 1)]
		says(t, m.restore(0, dir, of, "--to", to), "Restored backup "+of)
		want := min(6+3*i, 12)
		if got := m.rows(dir, "SELECT COUNT(*) FROM test.t WHERE i > 0"); got != fmt.Sprint(want) {
			t.Errorf("at %s there are %s, and %d were written", to, got, want)
		}
		must(t, os.RemoveAll(dir))
	}
	back()
	says(t, m.restore(3, dir, ids[0], "--to", moments[0], "--dry-run"), "no log in the archive continues at", "what lay before", "was pruned at")
}
