package sampler

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// live is a private server, and what watches it.
type live struct {
	samplertest.Live
	server *sandbox.Server
	of     *Server
}

func start(t testing.TB, o sandbox.MySQLOptions) *live {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	server, err := box.MySQL(o)
	sandbox.Need(t, err)
	db, err := server.Open()
	sandbox.Need(t, err)
	t.Cleanup(func() { db.Close() })
	// InnoDB shows the transactions of 0.1 s ago to whoever asks more often.
	l := &live{Live: samplertest.Live{T: t, DB: db, Pause: 200 * time.Millisecond}, server: server}
	l.Source = l.source
	l.as("root")
	return l
}

// as watches as another user.
func (l *live) as(user string) {
	l.T.Helper()
	dsn := user + "@unix(" + l.server.Socket + ")/"
	given, err := mysql.Given(dsn)
	sandbox.Need(l.T, err)
	l.Host = host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: dsn, Again: 200 * time.Millisecond})
	h := l.Host
	l.T.Cleanup(func() { h.Close() })
	s, ref := samplertest.LoggedIn(kind, given.Address)
	sources := New(&given).Sources(s)
	if len(sources) != 5 || sources[0].Name() != "mysql:"+given.Address+" status" {
		l.T.Fatalf("sources: %v", sources)
	}
	l.of = New(&given).Server(s, ref)
}

// source makes one of the sources of the server.
func (l *live) source(part string) sample.Source {
	of := map[string]sample.Taker{"status": l.of.status, "sessions": l.of.sessions, "files": l.of.files, "history": l.of.history, "statements": l.of.statements}
	return l.of.Source(part, time.Second, of[part])
}

func (l *live) idOf(c *sql.Conn) (id int64) {
	l.T.Helper()
	sandbox.Need(l.T, c.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id))
	return id
}

// allOn has MariaDB tell all that it can tell of sessions.
const allOn = "performance_schema = ON\nperformance_schema_consumer_events_waits_current = ON\nperformance_schema_consumer_events_statements_current = ON"

func onServers(t *testing.T, f func(t *testing.T, l *live, schema bool)) {
	for name, settings := range map[string]string{"Off": "", "On": allOn, "All": allOn + "\nperformance_schema_instrument = 'wait/%=ON'"} {
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
		l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(100), KEY one (v), KEY two (v, id))", "INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')")
		l.counters()
		l.lockChain()
		l.digests(schema)
	})
}

// counters looks whether the readings count what was done.
func (l *live) counters() {
	before := l.Must("status")
	for i := range 10 {
		l.Exec(fmt.Sprintf("INSERT INTO shop.t VALUES (%d, 'x')", 100+i))
	}
	after := l.Must("status")
	for name, want := range map[string]float64{"rows_changed": 10, "inserts": 10, "questions": 10} {
		if grew := samplertest.Reads(after, name) - samplertest.Reads(before, name); grew < want || grew > want+30 {
			l.T.Errorf("%s grew by %v after 10 inserts", name, grew)
		}
	}
	for _, name := range []string{"uptime", "threads_connected", "buffer_pool_reads", "wait_free", "log_waits", "redo_written", "redo_writes", "checkpoint_age", "checkpoint_age_limit",
		"buffer_pool_free", "lsn", "data_fsyncs", "row_lock_ms", "pending_fsyncs", "buffer_pool_read_requests", "page_bytes_written"} {
		if _, ok := samplertest.Value(after, name); !ok {
			l.T.Errorf("no reading %s", name)
		}
	}
	if samplertest.Reads(after, "lsn") <= samplertest.Reads(before, "lsn") {
		l.T.Errorf("lsn: %v, then %v", samplertest.Reads(before, "lsn"), samplertest.Reads(after, "lsn"))
	}
}

// lockChain has a session hold a row in an open transaction, one wait for it,
// and a third for the table.
func (l *live) lockChain() {
	l.Until("sessions", "that nobody is blocked", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 0 })
	holder := l.Held("BEGIN", "UPDATE shop.t SET v = 'secret-literal' WHERE id = 1")
	waiter, third := l.Held(), l.Held()
	holds, waits := l.idOf(holder), l.idOf(waiter)
	l.Later(waiter, "UPDATE shop.t SET v = 'secret-literal' WHERE id = 1")
	l.Until("sessions", "one lock", func(b series.Batch) bool { return samplertest.Reads(b, "sessions_lock") == 1 })
	l.Later(third, "ALTER TABLE shop.t ADD COLUMN w INT")
	b := l.Until("sessions", "two locks", func(b series.Batch) bool {
		return samplertest.Reads(b, "sessions_lock") == 2 && samplertest.Reads(b, "blocked_sessions") == 2 && samplertest.Reads(b, "longest_transaction") >= 1
	})
	if samplertest.Reads(b, "sessions_active") < 2 {
		l.T.Errorf("active: %v", samplertest.Reads(b, "sessions_active"))
	}
	var sum float64
	for _, c := range series.Classes {
		n, ok := samplertest.Value(b, "sessions_"+string(c))
		if !ok && c != series.ClassLatch { // which is told where its instruments are on
			l.T.Errorf("no reading of class %s", c)
		}
		sum += n
	}
	if sum != samplertest.Reads(b, "sessions_active") {
		l.T.Errorf("classes add up to %v of %v", sum, samplertest.Reads(b, "sessions_active"))
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
		l.T.Errorf("want %d waiting for %d, which comes first: %+v", waits, holds, b.Sessions)
	}
	if text := fmt.Sprintf("%+v", b); containsLiteral(text) {
		l.T.Errorf("a literal: %s", text)
	}
	l.heldEnd(holder)
	l.Until("sessions", "that nobody is blocked", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 0 })
}

func (l *live) heldEnd(c *sql.Conn) {
	if _, err := c.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		l.T.Error(err)
	}
}
