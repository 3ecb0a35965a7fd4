package durability_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mysql "plumb/internal/engine/mysql/client"
	postgres "plumb/internal/engine/postgres/client"
	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/test/sandbox"
)

// TestCrash kills servers in the midst of a load. One that promises to keep
// what it acknowledged keeps it; one set not to loses some, and that is found.
func TestCrash(t *testing.T) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	for _, c := range []struct {
		name, engine, settings string
		loses                  bool
	}{
		{"MariaDB", "mysql", "innodb_flush_log_at_trx_commit = 1", false},
		{"MariaDBUnsafe", "mysql", "innodb_flush_log_at_trx_commit = 0\ninnodb_flush_log_at_timeout = 5", true},
		{"PostgreSQL", "postgres", "synchronous_commit = on", false},
		{"PostgreSQLUnsafe", "postgres", "synchronous_commit = off\nwal_writer_delay = 10s", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := crash(t, c.engine, c.settings)
			for range 2 { // what is lost is what was not written by chance
				if c.loses && v.Lost == 0 {
					v = crash(t, c.engine, c.settings)
				}
			}
			t.Logf("%d acknowledged, %d lost %v, %d extra", v.Acknowledged, v.Lost, v.FirstLost, v.Extra)
			if v.Acknowledged < least {
				t.Fatalf("only %d commits before the crash", v.Acknowledged)
			}
			if (v.Lost > 0) != c.loses {
				t.Errorf("%d of %d acknowledged commits were lost", v.Lost, v.Acknowledged)
			}
			if v.Extra > writers {
				t.Errorf("%d commits more than acknowledged, and %d could be under way", v.Extra, writers)
			}
		})
	}
}

const (
	writers = 4
	least   = 50 // commits before the crash
)

// crash puts a server under load, kills it, starts it again and verifies.
func crash(t *testing.T, engine, settings string) *durability.Outcome {
	b := sandbox.ForTest(t, "")
	server, pid := start(t, b, engine, settings)
	ctx := t.Context()
	admin, err := server.Admin(ctx)
	ok(t, err)
	ok(t, admin.Exec(ctx, durability.CreateTable(engine)))
	_ = admin.Close()
	path := filepath.Join(t.TempDir(), "book")
	book, err := durability.Create(path, durability.Header{Target: engine, Workload: "inserts"})
	ok(t, err)
	var workers sync.WaitGroup
	var done atomic.Int64
	for w := range int64(writers) {
		workers.Go(func() { write(t, server, book, w, &done) })
	}
	time.Sleep(1200 * time.Millisecond)
	for end := time.Now().Add(time.Minute); done.Load() < least && time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // the disk may be busy
	}
	killAll(t, pid)
	workers.Wait()
	ok(t, book.Close())
	server, _ = start(t, b, engine, settings)
	admin, err = server.Admin(ctx)
	ok(t, err)
	defer admin.Close()
	v, err := durability.Verify(ctx, admin, path)
	ok(t, err)
	return v
}

// write commits transactions until the server is gone.
func write(t *testing.T, server load.Server, book *durability.Ledger, n int64, done *atomic.Int64) {
	s, err := server.Open(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	insert, err := s.Prepare(durability.Insert)
	if err != nil {
		t.Error(err)
		return
	}
	var args [2]load.Arg
	for ; ; n += writers {
		book.Fill(args[:], n)
		if s.Text([]byte("BEGIN")) != nil || s.Run(insert, args[:]) != nil || s.Text([]byte("COMMIT")) != nil {
			return
		}
		book.Acknowledge(n)
		done.Add(1)
	}
}

func start(t *testing.T, b *sandbox.Box, engine, settings string) (load.Server, int) {
	t.Helper()
	if engine == "mysql" {
		s, err := b.MySQL(sandbox.MySQLOptions{Settings: settings})
		sandbox.Need(t, err)
		c := mysql.Config{Network: "unix", Address: s.Socket, User: s.User}
		admin, err := mysql.New(c).Admin(t.Context())
		ok(t, err)
		ok(t, admin.Exec(t.Context(), "CREATE DATABASE IF NOT EXISTS load_test"))
		_ = admin.Close()
		c.Database = "load_test"
		return mysql.New(c), s.PID
	}
	s, err := b.Postgres(sandbox.PostgresOptions{Settings: settings})
	sandbox.Need(t, err)
	return postgres.New(postgres.Config{Network: "unix", Address: filepath.Join(s.Socket, ".s.PGSQL."+strconv.Itoa(s.Port)), User: "postgres", Database: "postgres"}), s.PID
}

// killAll kills a server and its children and waits until they are gone.
func killAll(t *testing.T, pid int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	ok(t, err)
	all := []int{pid}
	for _, word := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(word)
		ok(t, err)
		all = append(all, child)
	}
	for _, p := range all {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
	for _, p := range all {
		for until := time.Now().Add(time.Minute); syscall.Kill(p, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p)); strings.Contains(string(state), ") Z ") {
				break // only its parent has not noticed yet
			}
			if time.Now().After(until) {
				t.Fatalf("process %d does not die", p)
			}
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
