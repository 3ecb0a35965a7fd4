package sampler

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/postgres"
	"plumb/internal/engine/samplertest"
	"plumb/internal/hint"
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

func start(t testing.TB, o sandbox.PostgresOptions) *live {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	server, err := box.Postgres(o)
	sandbox.Need(t, err)
	db, err := server.Open()
	sandbox.Need(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(0) // a session tells what it did when it ends, and else up to ten seconds later
	l := &live{Live: samplertest.Live{T: t, DB: db, Pause: 50 * time.Millisecond}, server: server}
	l.Source = l.source
	l.as("postgres")
	return l
}

// as watches as another user.
func (l *live) as(user string) {
	l.T.Helper()
	dsn := "postgres://" + user + "@/postgres?host=" + l.server.Socket
	given, err := postgres.Given(dsn)
	sandbox.Need(l.T, err)
	l.Host = host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"postgres": postgres.Dialer{}}, DSN: dsn, Again: 200 * time.Millisecond})
	h := l.Host
	l.T.Cleanup(func() { h.Close() })
	s, ref := samplertest.LoggedIn(kind, given.Address)
	sources := New(&given).Sources(s)
	if len(sources) != 5 || sources[0].Name() != "postgres:"+given.Address+" status" {
		l.T.Fatalf("sources: %v", sources)
	}
	l.of = New(&given).Server(s, ref)
}

// source makes one of the sources of the server.
func (l *live) source(part string) sample.Source {
	of := map[string]sample.Taker{"status": l.of.status, "sessions": l.of.sessions, "io": l.of.io, "databases": l.of.databases, "statements": l.of.statements, "texts": l.of.texts}
	return l.of.Source(part, time.Second, of[part])
}

func (l *live) idOf(c *sql.Conn) (id int64) {
	l.T.Helper()
	sandbox.Need(l.T, c.QueryRowContext(context.Background(), "SELECT pg_backend_pid()").Scan(&id))
	return id
}

const settings = "shared_preload_libraries = 'pg_stat_statements'\ntrack_io_timing = on\nmax_connections = 60\nmax_wal_senders = 2"

// onServers runs a test on the installed server, and with PLUMB_REAL on others.
func onServers(t *testing.T, f func(t *testing.T, l *live)) {
	t.Run("Installed", func(t *testing.T) { f(t, start(t, sandbox.PostgresOptions{Settings: settings})) })
	for _, major := range []string{"10", "14", "17", "18"} {
		t.Run(major, func(t *testing.T) {
			sandbox.NeedTime(t, "PostgreSQL "+major+" is fetched: PLUMB_REAL=1")
			bin, err := sandbox.PostgresTree(major)
			sandbox.Need(t, err)
			f(t, start(t, sandbox.PostgresOptions{Bindir: bin, Settings: settings}))
		})
	}
}

func TestServerIsWatched(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Exec("CREATE TABLE t (id int PRIMARY KEY, v text)", "CREATE INDEX one ON t (v)", "CREATE INDEX two ON t (v, id)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
		l.counters()
		l.clients()
		l.lockChain()
		l.costs()
	})
}

// counters looks whether the readings count what was done.
func (l *live) counters() {
	l.settled()
	before, beforeIO := l.Must("status"), l.Must("io")
	for i := range 10 {
		l.Exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'x')", 100+i))
	}
	l.Exec("CHECKPOINT")
	after := l.Until("status", "10 rows more", func(b series.Batch) bool {
		return samplertest.Reads(b, "rows_changed")-samplertest.Reads(before, "rows_changed") >= 10
	})
	if grew := samplertest.Reads(after, "rows_changed") - samplertest.Reads(before, "rows_changed"); grew > 12 {
		l.T.Errorf("rows_changed grew by %v after 10 inserts", grew)
	}
	if grew := samplertest.Reads(after, "wal_bytes") - samplertest.Reads(before, "wal_bytes"); grew < 500 || grew > 10<<20 {
		l.T.Errorf("wal_bytes grew by %v", grew)
	}
	l.Until("io", "one checkpoint more", func(b series.Batch) bool {
		return samplertest.Reads(b, "checkpoints_requested")-samplertest.Reads(beforeIO, "checkpoints_requested") == 1 && samplertest.Reads(b, "checkpoint_buffers") > samplertest.Reads(beforeIO, "checkpoint_buffers")
	})
	for _, name := range []string{"uptime", "commits", "blocks_hit", "blocks_read", "block_read_ms", "deadlocks"} {
		if _, ok := samplertest.Value(after, name); !ok {
			l.T.Errorf("no reading %s", name)
		}
	}
	tr, err := l.of.learn(context.Background(), l.Host)
	sandbox.Need(l.T, err)
	want := []string{"client_writes", "background_writes", "checkpoint_write_ms", "checkpoints_timed", "backend_fsyncs"}
	if tr.major >= 14 {
		want = append(want, "wal_fpi", "wal_records", "wal_writes", "wal_syncs", "wal_buffers_full")
	}
	if tr.major >= 16 {
		want = append(want, "client_reads", "client_evictions")
	}
	io := l.Must("io")
	for _, name := range want {
		if _, ok := samplertest.Value(io, name); !ok {
			l.T.Errorf("%d: no reading %s: %v", tr.major, name, io.Readings)
		}
	}
	if _, ok := samplertest.Value(io, "wal_sync_ms"); ok {
		l.T.Error("wal_sync_ms without track_wal_io_timing")
	}
}

// settled waits until what was done is counted: before 15 a process collects it
// some half a second later.
func (l *live) settled() {
	for last := -1.0; ; {
		n := samplertest.Reads(l.Must("status"), "rows_changed")
		if n == last {
			return
		}
		last = n
		time.Sleep(1200 * time.Millisecond)
	}
}

// clients: one that waits for its client is not active, one that sleeps is.
func (l *live) clients() {
	l.Later(l.Held(), "SELECT pg_sleep(4)")
	b := l.Until("sessions", "one that sleeps, and no other that just ends", func(b series.Batch) bool {
		return samplertest.Reads(b, "sessions_other") == 1 && samplertest.Reads(b, "sessions_active") == 1 && len(b.Sessions) == 1
	})
	if b.Sessions[0].Wait != "Timeout:PgSleep" || samplertest.Reads(b, "connections_used") < 2 { // ours, and those of tests beside this one
		l.T.Errorf("sessions: %+v", b)
	}
	l.Until("sessions", "none", func(b series.Batch) bool { return samplertest.Reads(b, "sessions_active") == 0 })
}

// lockChain has a session hold a row, one wait for it and a third behind it.
func (l *live) lockChain() {
	holder := l.Held("BEGIN", "UPDATE t SET v = 'secret-literal' WHERE id = 1")
	waiter, third := l.Held(), l.Held()
	holds, waits := l.idOf(holder), l.idOf(waiter)
	l.Later(waiter, "UPDATE t SET v = 'secret-literal' WHERE id = 1")
	l.Until("sessions", "one lock", func(b series.Batch) bool { return samplertest.Reads(b, "sessions_lock") == 1 })
	l.Later(third, "ALTER TABLE t ADD COLUMN w int")
	b := l.Until("sessions", "two locks", func(b series.Batch) bool {
		return samplertest.Reads(b, "sessions_lock") == 2 && samplertest.Reads(b, "blocked_sessions") == 2 && samplertest.Reads(b, "longest_transaction") > 0
	})
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
	if strings.Contains(fmt.Sprintf("%+v", b), "secret-literal") {
		l.T.Errorf("a literal: %+v", b)
	}
	if _, err := holder.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		l.T.Error(err)
	}
	l.Until("sessions", "that nobody is blocked", func(b series.Batch) bool { return samplertest.Reads(b, "blocked_sessions") == 0 })
}

// costs looks for a statement, its counts and its text, and for a password.
func (l *live) costs() {
	if _, err := l.Take("statements"); err == nil || !strings.Contains(hint.Of(err), "CREATE EXTENSION") {
		l.T.Errorf("statements without the extension: %v (%s)", err, hint.Of(err))
	}
	l.Exec(`CREATE SCHEMA "Odd ""one"`, `CREATE EXTENSION pg_stat_statements SCHEMA "Odd ""one"`)
	l.of.learned.Forget()
	for range 5 {
		l.Exec("SELECT v FROM t WHERE v = 'secret-literal' AND id > 4711")
	}
	l.Exec("CREATE ROLE nobody PASSWORD 'secret-literal'", "ALTER ROLE nobody PASSWORD 'secret-literal'", "SET application_name TO secretliteral")
	b := l.Must("statements")
	var ids []string
	for _, s := range b.Statements {
		ids = append(ids, s.ID)
	}
	texts, err := l.of.Texts(context.Background(), l.Host, ids)
	sandbox.Need(l.T, err)
	found := map[string]bool{}
	for _, s := range b.Statements {
		if strings.HasPrefix(texts[s.ID], "SELECT v FROM t") {
			found["select"] = s.Calls == 5 && s.Seconds > 0 && s.Seconds < 60 && *s.Bytes > 0 && s.Database == "postgres"
		}
		found[texts[s.ID]] = true
	}
	if !found["select"] || !found["ALTER ROLE …"] {
		l.T.Errorf("statements: %v", found)
	}
	named := l.Must("texts")
	if !slices.ContainsFunc(named.Statements, func(s series.Statement) bool { return strings.HasPrefix(s.Text, "SELECT v FROM t") && s.Calls == 5 }) {
		l.T.Errorf("no texts: %v", named.Statements)
	}
	for _, s := range slices.Concat(b.Statements, named.Statements) {
		if all := texts[s.ID] + s.Text; strings.Contains(all, "secret") || strings.Contains(all, "4711") { // an id may hold any number
			l.T.Errorf("a literal: %s", all)
		}
	}
}

// TestTroubleIsAGap: whatever happens to a server or to what we may read, a
// source gives an error that says so, and no numbers.
func TestTroubleIsAGap(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings})
	l.Exec("CREATE EXTENSION pg_stat_statements", "CREATE ROLE plumb LOGIN", "GRANT pg_monitor TO plumb")
	l.Held("BEGIN", "SELECT 1")
	l.as("plumb")
	for _, part := range []string{"status", "sessions", "io", "databases", "statements"} {
		l.Must(part)
	}
	l.Exec("REVOKE pg_monitor FROM plumb")
	b := l.Must("sessions")
	if len(b.Gaps) != 1 || b.Gaps[0].Of != l.of.Ref || b.Gaps[0].Name != "" || !strings.Contains(b.Gaps[0].Hint, "pg_read_all_stats") {
		t.Errorf("sessions without pg_monitor: %+v", b.Gaps)
	}
	if len(b.Sessions)+len(b.Readings) > 0 { // not even connections: what is hidden includes the server's own processes
		t.Errorf("without pg_monitor: %+v", b)
	}
	if b, err := l.Take("statements"); err == nil || len(b.Statements) > 0 {
		t.Errorf("statements without pg_monitor: %v %v", err, b)
	}
	l.Exec("ALTER ROLE plumb NOLOGIN")
	l.as("plumb")
	if b, err := l.Take("status"); err == nil || len(b.Readings) > 0 {
		t.Errorf("without a login: %v %v", err, b)
	}
	l.as("postgres")
	l.Must("status")
	sandbox.Need(t, l.server.Stop())
	l.Dead("status")
}

// TestGrants: the rights of the text are enough; without them what it says is lost.
func TestGrants(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings})
	l.Exec("CREATE EXTENSION pg_stat_statements")
	for line := range strings.Lines(Grants()) {
		if !strings.HasPrefix(line, "--") {
			l.Exec(line)
		}
	}
	l.Held("BEGIN", "SELECT 1")
	l.as("plumb")
	for _, part := range []string{"status", "sessions", "io", "databases", "statements"} {
		l.Must(part)
	}
	l.Exec("REVOKE pg_read_all_stats FROM plumb")
	for part, lost := range map[string]bool{"status": false, "io": false, "sessions": true, "statements": true} {
		if b, err := l.Take(part); (err != nil || len(b.Readings) == 0) != lost {
			t.Errorf("%s without pg_read_all_stats: %v, %+v", part, err, b)
		}
	}
}

func TestIndexes(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{})
	l.Exec("CREATE TABLE t (id int PRIMARY KEY, v text, p int)", "CREATE INDEX one ON t (v)", "CREATE INDEX two ON t (v, p)", "CREATE INDEX down ON t (v DESC)",
		"CREATE INDEX part ON t (v) WHERE p > 1", "CREATE INDEX incl ON t (p) INCLUDE (v)", "CREATE UNIQUE INDEX u ON t (p)")
	l.Exec("SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT v FROM t ORDER BY v DESC, p DESC")
	done := map[string]string{}
	unread := map[string]series.Index{}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && (len(unread) == 0 || unread["two"].Unread); time.Sleep(100 * time.Millisecond) {
		clear(unread)
		all, err := l.of.Indexes(context.Background(), l.Host, "postgres")
		sandbox.Need(t, err)
		for _, i := range all {
			if i.DoneBy != "" {
				done[i.Name] = i.DoneBy
			}
			if i.Unread {
				unread[i.Name] = i
			}
		}
	}
	if len(done) != 1 || done["one"] != "two" {
		t.Errorf("redundant: %v", done)
	}
	if len(unread) != 4 || !unread["down"].Unread || unread["one"].Since.IsZero() || unread["two"].Unread || unread["u"].Unread {
		t.Errorf("unread: %v", unread)
	}
}

// TestDatabasesThatAreNotLookedInto: what is not known of them is told.
func TestDatabasesThatAreNotLookedInto(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{})
	l.Exec("CREATE TABLE t (id int PRIMARY KEY, v text)", "CREATE INDEX one ON t (v)")
	given, err := postgres.Given("postgres://postgres@/postgres?host=" + l.server.Socket)
	sandbox.Need(t, err)
	s, ref := samplertest.LoggedIn(kind, given.Address)
	look := func() ([]series.Index, error) {
		return Planner{Finder: New(&given)}.Indexes(t.Context(), l.Host, s, ref)
	}
	if all, err := look(); err != nil || len(all) != 1 {
		t.Errorf("of one database: %+v, %v", all, err)
	}
	for i := range mostDatabases {
		l.Exec(fmt.Sprintf("CREATE DATABASE d%d TEMPLATE template0", i))
	}
	if all, err := look(); len(all) != 1 || err == nil || !strings.HasSuffix(err.Error(), "only the 8 oldest of its 9 databases are looked into") {
		t.Errorf("of nine databases: %+v, %v", all, err)
	}
}
