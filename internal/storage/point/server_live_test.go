package point

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/protect/freeze"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// A point of a MariaDB that is being written to starts, and holds all that was committed before
// the point was begun: on btrfs without any lock, on XFS while the server stands still.
func TestServersOnFilesystems(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		b := sandbox.ForTest(t, "")
		must(t, os.Remove(filepath.Join(p.dir, "file")))
		must(t, os.Chmod(p.top, 0o755))
		s, err := b.MySQL(sandbox.MySQLOptions{Datadir: p.dir, Settings: "log_bin = binlog\nsync_binlog = 1"})
		sandbox.Need(t, err)
		must(t, s.Exec("CREATE DATABASE d", "CREATE TABLE d.t (n INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(900)) ENGINE=InnoDB"))
		committed, stop := writers(t, s)
		for range times(3) {
			time.Sleep(300 * time.Millisecond)
			before := committed.Load()
			began := time.Now()
			m := p.taken(t, protect.Server{PID: s.PID, Ref: stack.Ref{Kind: "mysql", Name: "3306"}})
			t.Logf("taken in %v after %d commits", time.Since(began).Round(time.Millisecond), before)
			p.starts(t, b, m, before)
			must(t, p.Destroy(t.Context(), hosttest.LiveDoer(t), []protect.Member{m}))
		}
		stop()
		must(t, s.Stop())
	})
}

func times(n int) int {
	if os.Getenv("PLUMB_REAL") != "" {
		return 10 * n
	}
	return n
}

// writers commit rows until they are stopped.
func writers(t *testing.T, s *sandbox.Server) (committed *atomic.Int64, stop func()) {
	db, err := s.Open()
	must(t, err)
	committed = &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := db.ExecContext(ctx, "INSERT INTO d.t (pad) VALUES (REPEAT('x', 900))"); err == nil {
					committed.Add(1)
				}
			}
		})
	}
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); all.Wait(); db.Close() }) }
	t.Cleanup(stop)
	return committed, stop
}

// taken takes a point as its storage wants it.
func (p *place) taken(t *testing.T, sv protect.Server) protect.Member {
	t.Helper()
	d, ctx := hosttest.LiveDoer(t), t.Context()
	must(t, p.Settle(ctx, d, p.vols))
	var f protect.Frozen
	if p.Atomic(p.vols) != "" {
		var err error
		f, err = freeze.Freezer{}.Freeze(ctx, d, sv, time.Minute)
		must(t, err)
	}
	all, err := p.Snapshot(ctx, d, p.vols, name, facts)
	if f != nil {
		must(t, errors.Join(f.Whole(ctx), f.Thaw(ctx)))
	}
	must(t, err)
	return all[0]
}

// starts starts a server on a clone and counts its rows.
func (p *place) starts(t *testing.T, b *sandbox.Box, m protect.Member, least int64) {
	t.Helper()
	d, ctx, dir := hosttest.LiveDoer(t), t.Context(), t.TempDir()
	book, err := kinds.Books(d, filepath.Join(dir, "books")).Open(ctx, "run1")
	must(t, err)
	defer func() { must(t, book.Close(context.WithoutCancel(ctx))) }()
	at, err := b.Mkdir("copy-" + filepath.Base(dir))
	must(t, err)
	must(t, p.Clone(ctx, d, m, protect.CloneAt{Dir: at, Book: book}))
	s, err := b.MySQL(sandbox.MySQLOptions{Name: "copy" + filepath.Base(filepath.Dir(dir)) + filepath.Base(dir), Datadir: at, Settings: "log_bin = binlog"})
	must(t, err)
	defer func() { must(t, s.Stop()) }()
	db, err := s.Open()
	must(t, err)
	defer db.Close()
	var rows int64
	var table, op, kind, said sql.NullString
	must(t, db.QueryRow("SELECT COUNT(*) FROM d.t").Scan(&rows))
	must(t, db.QueryRow("CHECK TABLE d.t EXTENDED").Scan(&table, &op, &kind, &said))
	if rows < least || said.String != "OK" {
		t.Errorf("the copy has %d rows, and %d were committed before; the check says %q", rows, least, said.String)
	}
}
