package sampler

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// live is a private server, and the reader and sources that watch it.
type live struct {
	t      testing.TB
	server *sandbox.Server
	db     *sql.DB
	h      *host.Live
	of     *Server
}

func start(t testing.TB, o sandbox.MySQLOptions) *live {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real server: run without -short")
	}
	box, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	server, err := box.MySQL(o)
	sandbox.Need(t, err)
	db, err := server.Open()
	sandbox.Need(t, err)
	t.Cleanup(func() { db.Close() })
	l := &live{t: t, server: server, db: db}
	l.as("root")
	return l
}

// as watches as another user.
func (l *live) as(user string) {
	l.t.Helper()
	dsn := user + "@unix(" + l.server.Socket + ")/"
	given, err := mysql.Given(dsn)
	sandbox.Need(l.t, err)
	l.h = host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: dsn, Again: 200 * time.Millisecond})
	h := l.h
	l.t.Cleanup(func() { h.Close() })
	s := &stack.Stack{}
	obs := stack.Observation{}
	thing := obs.New(kind, given.Address)
	thing.Set("logged_in", stack.Bool(true), "test")
	s.Add("test", obs)
	sources := New(&given).Sources(s)
	if len(sources) != 4 || sources[0].Name() != "mysql:"+given.Address+" status" {
		l.t.Fatalf("sources: %v", sources)
	}
	l.of = New(&given).Server(s, thing.Ref)
}

func (l *live) exec(statements ...string) {
	l.t.Helper()
	for _, q := range statements {
		if _, err := l.db.Exec(q); err != nil {
			l.t.Fatalf("%s: %v", q, err)
		}
	}
}

// take asks one source.
func (l *live) take(part string) (series.Batch, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v := l.of
	of := map[string]sample.Taker{"status": v.status, "sessions": v.sessions, "files": v.files, "statements": v.statements}
	return v.Source(part, time.Second, of[part]).Take(ctx, l.h)
}

func (l *live) must(part string) series.Batch {
	l.t.Helper()
	b, err := l.take(part)
	if err != nil {
		l.t.Fatalf("%s: %v", part, err)
	}
	return b
}

// until asks a source again until it says what is waited for.
func (l *live) until(part, what string, done func(series.Batch) bool) series.Batch {
	l.t.Helper()
	var b series.Batch
	// InnoDB shows the transactions of 0.1 s ago to whoever asks more often.
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if b = l.must(part); done(b) {
			return b
		}
	}
	l.t.Fatalf("%s never said %s: %+v", part, what, b)
	return b
}

func value(b series.Batch, name string) (float64, bool) {
	i := slices.IndexFunc(b.Readings, func(r series.Reading) bool { return r.Name == name })
	if i < 0 {
		return 0, false
	}
	return b.Readings[i].Value, true
}

func reads(b series.Batch, name string) float64 {
	n, _ := value(b, name)
	return n
}

// held opens a session that the test keeps.
func (l *live) held(statements ...string) *sql.Conn {
	l.t.Helper()
	c, err := l.db.Conn(context.Background())
	sandbox.Need(l.t, err)
	l.t.Cleanup(func() { c.Close() })
	for _, q := range statements {
		if _, err := c.ExecContext(context.Background(), q); err != nil {
			l.t.Fatalf("%s: %v", q, err)
		}
	}
	return c
}

// later runs a statement that will wait.
func (l *live) later(c *sql.Conn, q string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.ExecContext(context.Background(), q) // the test ends it by its server's end
	}()
	l.t.Cleanup(func() { <-done })
}

func (l *live) idOf(c *sql.Conn) (id int64) {
	l.t.Helper()
	sandbox.Need(l.t, c.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id))
	return id
}

func onServers(t *testing.T, f func(t *testing.T, l *live, schema bool)) {
	for name, settings := range map[string]string{"Off": "", "On": "performance_schema = ON\nperformance_schema_consumer_events_waits_current = ON\nperformance_schema_consumer_events_statements_current = ON"} {
		t.Run("MariaDB"+name, func(t *testing.T) { f(t, start(t, sandbox.MySQLOptions{Settings: settings}), settings != "") })
	}
	t.Run("MySQL", func(t *testing.T) {
		sandbox.NeedTime(t, "MySQL is fetched: PLUMB_REAL=1")
		base, loader, err := sandbox.MySQLTree()
		sandbox.Need(t, err)
		f(t, start(t, sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Settings: "performance_schema_consumer_events_waits_current = ON"}), true)
	})
}

func TestServerIsWatched(t *testing.T) {
	onServers(t, func(t *testing.T, l *live, schema bool) {
		l.exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(100), KEY one (v), KEY two (v, id))", "INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')")
		l.counters()
		l.lockChain()
		l.digests(schema)
	})
}

// counters looks whether the readings count what was done.
func (l *live) counters() {
	before := l.must("status")
	for i := range 10 {
		l.exec(fmt.Sprintf("INSERT INTO shop.t VALUES (%d, 'x')", 100+i))
	}
	after := l.must("status")
	for name, want := range map[string]float64{"rows_changed": 10, "inserts": 10, "questions": 10} {
		if grew := reads(after, name) - reads(before, name); grew < want || grew > want+30 {
			l.t.Errorf("%s grew by %v after 10 inserts", name, grew)
		}
	}
	for _, name := range []string{"uptime", "threads_connected", "buffer_pool_reads", "wait_free", "log_waits", "redo_written", "checkpoint_age", "checkpoint_age_limit",
		"buffer_pool_free", "lsn", "data_fsyncs", "row_lock_ms", "pending_fsyncs", "buffer_pool_read_requests", "page_bytes_written"} {
		if _, ok := value(after, name); !ok {
			l.t.Errorf("no reading %s", name)
		}
	}
	if reads(after, "lsn") <= reads(before, "lsn") {
		l.t.Errorf("lsn: %v, then %v", reads(before, "lsn"), reads(after, "lsn"))
	}
}

// lockChain has a session hold a row in an open transaction, one wait for it,
// and a third for the table.
func (l *live) lockChain() {
	l.until("sessions", "that nobody is blocked", func(b series.Batch) bool { return reads(b, "blocked_sessions") == 0 })
	holder := l.held("BEGIN", "UPDATE shop.t SET v = 'secret-literal' WHERE id = 1")
	waiter, third := l.held(), l.held()
	holds, waits := l.idOf(holder), l.idOf(waiter)
	l.later(waiter, "UPDATE shop.t SET v = 'secret-literal' WHERE id = 1")
	l.until("sessions", "one lock", func(b series.Batch) bool { return reads(b, "sessions_lock") == 1 })
	l.later(third, "ALTER TABLE shop.t ADD COLUMN w INT")
	b := l.until("sessions", "two locks", func(b series.Batch) bool {
		return reads(b, "sessions_lock") == 2 && reads(b, "blocked_sessions") == 2 && reads(b, "longest_transaction") >= 1
	})
	if reads(b, "sessions_active") < 2 {
		l.t.Errorf("active: %v", reads(b, "sessions_active"))
	}
	var sum float64
	for _, c := range series.Classes {
		n, ok := value(b, "sessions_"+string(c))
		if !ok {
			l.t.Errorf("no reading of class %s", c)
		}
		sum += n
	}
	if sum != reads(b, "sessions_active") {
		l.t.Errorf("classes add up to %v of %v", sum, reads(b, "sessions_active"))
	}
	found := 0
	for _, s := range b.Sessions {
		if s.ID == waits && s.Active && s.Class == series.ClassLock && slices.Equal(s.BlockedBy, []int64{holds}) {
			found++
		}
		if s.ID == holds && !s.Active && s.InTx > 0 {
			found++
		}
	}
	if found != 2 || b.Sessions[0].ID != holds {
		l.t.Errorf("want %d waiting for %d, which comes first: %+v", waits, holds, b.Sessions)
	}
	if text := fmt.Sprintf("%+v", b); containsLiteral(text) {
		l.t.Errorf("a literal: %s", text)
	}
	l.heldEnd(holder)
	l.until("sessions", "that nobody is blocked", func(b series.Batch) bool { return reads(b, "blocked_sessions") == 0 })
}

func (l *live) heldEnd(c *sql.Conn) {
	if _, err := c.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		l.t.Error(err)
	}
}
