package postgres_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/change/draft"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// live is a private server with the LiveDoer that changes it.
type live struct {
	t      *testing.T
	box    *sandbox.Box
	server *sandbox.Server
	db     *sql.DB
	doer   host.Doer
	user   string // whom the setter logs in as
	cat    *catalog.Catalog
}

func newLive(t *testing.T, o sandbox.PostgresOptions) *live {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	t.Parallel() // each has a server of its own, and waits for the disk
	box := sandbox.ForTest(t, "")
	server, err := box.Postgres(o)
	sandbox.Need(t, err)
	db, err := server.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	cat := hosttest.Catalog(t)
	l := &live{t: t, box: box, server: server, db: db, cat: cat}
	l.logIn(server.User)
	return l
}

// logIn makes a LiveDoer that logs in as a role.
func (l *live) logIn(user string) {
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"postgres": postgres.Dialer{}},
		DSN: "postgres://" + user + "@/postgres?host=" + l.server.Socket}))
	l.t.Cleanup(func() { doer.Close() })
	l.doer, l.user = doer, user
}

// observe is what a check would see of the server.
func (l *live) observe() *stack.Stack {
	l.t.Helper()
	var seen stack.Stack
	var obs stack.Observation
	p := obs.New("process", "1")
	uid, _ := l.box.User()
	for name, v := range map[string]stack.Value{"engine": stack.Text("postgres"), "own_mounts": stack.Bool(false), "uid": stack.Int(int64(uid)),
		"args": stack.List([]string{"postgres", "-D", l.server.Dir}), "listen": stack.List([]string{"unix:" + l.socket()})} {
		p.Set(name, v, "test")
	}
	seen.Add("process", obs)
	given := l.given()
	seenPostgres, err := postgres.NewProbe(l.cat, &given).Collect(l.t.Context(), l.doer, &seen)
	if err != nil {
		l.t.Fatal(err)
	}
	seen.Add("postgres", seenPostgres)
	return &seen
}

func (l *live) socket() string { return l.server.Socket + "/.s.PGSQL.5432" }

func (l *live) given() host.Target {
	t, err := postgres.Given("postgres://" + l.user + "@/postgres?host=" + l.server.Socket)
	if err != nil {
		l.t.Fatal(err)
	}
	return t
}

// maker prepares what the setter does as the user; the journal is to be in dir.
func (l *live) maker(dir string) draft.Maker {
	given := l.given()
	return draft.Maker{Doer: l.doer, Stack: l.observe(), Catalog: l.cat, Setters: []change.Setter{postgres.NewSetter(l.cat, &given)}, Dir: dir}
}

// state is all that setting a knob may touch. ALTER SYSTEM puts the line it
// writes last: the order of lines says nothing.
func (l *live) state(name string) string {
	l.t.Helper()
	var out []string
	for _, file := range []string{"postgresql.auto.conf", "postgresql.conf"} {
		text, err := os.ReadFile(filepath.Join(l.server.Dir, file))
		if err != nil {
			l.t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		if file == "postgresql.auto.conf" {
			slices.Sort(lines)
		}
		out = append(out, lines...)
	}
	// A session that is older than the reload may not have taken notice of it yet; a new one has.
	db, err := l.server.Open()
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	var value string
	if err := db.QueryRow("SELECT setting || ' ' || pending_restart::text FROM pg_settings WHERE name = $1", name).Scan(&value); err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(append(out, value), "\n")
}

func (l *live) exec(statements ...string) {
	l.t.Helper()
	if err := l.server.Exec(statements...); err != nil {
		l.t.Fatal(err)
	}
}

// few spares most of the second deaths where time counts.
func few() int {
	if os.Getenv("PLUMB_REAL") == "" {
		return 40
	}
	return 3
}

// suite is the conformance suite for one knob.
func (l *live) suite(t *testing.T, name string, to stack.Value, meddle ...string) {
	given := l.given()
	c := changetest.Case{
		Doer: l.doer, Setter: postgres.NewSetter(l.cat, &given), Catalog: l.cat, Observe: l.observe,
		Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "5432"}, Name: name}, To: to, Unsafe: true,
		State: func() string { return l.state(name) }, Dir: changetest.Journal(t.TempDir()), Few: few(),
	}
	if meddle != nil {
		c.Meddle = func() { l.exec(meddle...) }
	}
	changetest.Run(t, c)
}

// Every kind of setting, on a real server: there and back, changed by others
// in between, and with a machine that dies at every operation.
func TestSuite(t *testing.T) {
	l := newLive(t, sandbox.PostgresOptions{})
	l.exec("ALTER SYSTEM SET maintenance_work_mem = '96MB'", "ALTER SYSTEM SET random_page_cost = '1.1'", "ALTER SYSTEM SET session_preload_libraries = 'auto_explain', 'pg_stat_statements'",
		"SELECT pg_reload_conf()")
	for i, c := range []struct {
		name   string
		to     stack.Value
		meddle []string
	}{
		{"work_mem", stack.Int(64 << 20), []string{"ALTER SYSTEM SET work_mem = '7MB'", "SELECT pg_reload_conf()"}},
		{"random_page_cost", stack.Float(1.25), nil},
		{"shared_buffers", stack.Int(256 << 20), nil},
		{"session_preload_libraries", stack.Text("auto_explain"), nil},
		{"log_line_prefix", stack.Text(`%m 'it\s' [%p] `), nil},
		{"maintenance_work_mem", stack.Int(1 << 30), []string{"ALTER SYSTEM RESET maintenance_work_mem", "SELECT pg_reload_conf()"}},
		{"checkpoint_timeout", stack.Int(900), nil},
		{"synchronous_commit", stack.Text("off"), nil},
		{"log_checkpoints", stack.Bool(false), nil},
		{"log_file_mode", stack.Int(0o640), nil},
	} {
		if i >= 5 && os.Getenv("PLUMB_REAL") == "" {
			break // the rest takes long
		}
		t.Run(c.name, func(t *testing.T) { l.suite(t, c.name, c.to, c.meddle...) })
	}
}

// A role without any right but those that Needs would ask for.
func TestSuiteOfAnOrdinaryRole(t *testing.T) {
	l := newLive(t, sandbox.PostgresOptions{})
	var version int
	if err := l.db.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil || version < 150000 {
		t.Skipf("only a superuser can ALTER SYSTEM before 15 (%d, %v)", version, err)
	}
	l.exec("CREATE ROLE dba LOGIN")
	l.logIn("dba")
	prepare := func() change.Draft {
		d, err := l.maker(changetest.Journal(t.TempDir())).Prepare(t.Context(), []change.Step{{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "5432"}, Name: "work_mem"}, To: stack.Int(64 << 20)}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := prepare(); len(d.Missing) != 3 || !d.Stops() {
		t.Fatalf("%+v", d)
	}
	l.exec("GRANT ALTER SYSTEM ON PARAMETER work_mem TO dba", "GRANT EXECUTE ON FUNCTION pg_reload_conf() TO dba",
		"GRANT SELECT ON pg_file_settings TO dba", "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO dba")
	if d := prepare(); len(d.Missing) != 0 || d.Stops() {
		t.Fatalf("%+v", d)
	}
	l.suite(t, "work_mem", stack.Int(64<<20))
}

// The values that rules propose, set and undone as one plan.
func TestRemedies(t *testing.T) {
	l := newLive(t, sandbox.PostgresOptions{Settings: "autovacuum = off\ncheckpoint_completion_target = 0.5\ncommit_delay = 10\ndata_sync_retry = on\nfsync = off\nfull_page_writes = off\n" +
		"huge_pages = off\nignore_checksum_failure = on\nlog_checkpoints = off\nsynchronous_commit = off\ntrack_counts = off\nwal_buffers = 64kB\nzero_damaged_pages = on"})
	dir := changetest.Journal(t.TempDir())
	var steps []change.Step
	for name, to := range map[string]stack.Value{"autovacuum": stack.Bool(true), "bgwriter_lru_maxpages": stack.Int(400), "checkpoint_completion_target": stack.Float(0.9), "checkpoint_timeout": stack.Int(900),
		"commit_delay": stack.Int(0), "data_sync_retry": stack.Bool(false), "effective_cache_size": stack.Int(9 << 30), "effective_io_concurrency": stack.Int(200), "fsync": stack.Bool(true),
		"full_page_writes": stack.Bool(true), "huge_pages": stack.Text("try"), "ignore_checksum_failure": stack.Bool(false), "log_checkpoints": stack.Bool(true), "max_wal_size": stack.Int(5 << 30),
		"random_page_cost": stack.Float(1.1), "shared_buffers": stack.Int(384 << 20), "synchronous_commit": stack.Text("on"), "track_counts": stack.Bool(true), "track_io_timing": stack.Bool(true),
		"wal_buffers": stack.Int(16 << 20), "wal_compression": stack.Text("on"), "wal_init_zero": stack.Bool(false), "wal_log_hints": stack.Bool(true), "wal_recycle": stack.Bool(false), "zero_damaged_pages": stack.Bool(false)} {
		steps = append(steps, change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "5432"}, Name: name}, To: to})
	}
	was := l.state("autovacuum")
	d, err := l.maker(dir).Prepare(t.Context(), steps)
	if err != nil || len(d.Steps) != len(steps) {
		t.Fatalf("refused %+v, already %+v, missing %v, %v", d.Refused, d.Already, d.Missing, err)
	}
	executor := &change.Executor{Doer: l.doer, Dir: dir, Plumb: "test", Now: time.Now}
	out, err := executor.Apply(t.Context(), d, change.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Steps {
		now := l.observe().Find(s.Knob.Of).Facts[s.Knob.Name]
		if s.Knob.Name == "wal_compression" {
			s.To = stack.Text("pglz")
		}
		if waits := s.Recipe.Waits != ""; len(s.Got) > 0 || !waits && !now.Value.Equal(s.To) || waits && (now.Next == nil || !now.Next.Value.Equal(s.To)) {
			t.Errorf("%s: %+v, got %v", s.Knob, now, s.Got)
		}
	}
	if err := executor.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil || l.state("autovacuum") != was {
		t.Errorf("%v, %s", err, l.state("autovacuum"))
	}
}

// What waited for a restart, and has had it, is taken back for the next one,
// and can be set again.
func TestUndoAfterARestart(t *testing.T) {
	l := newLive(t, sandbox.PostgresOptions{})
	dir := changetest.Journal(t.TempDir())
	executor := func() *change.Executor { return &change.Executor{Doer: l.doer, Dir: dir, Plumb: "test", Now: time.Now} }
	apply := func() change.Outcome {
		d, err := l.maker(dir).Prepare(t.Context(), []change.Step{{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "5432"}, Name: "max_connections"}, To: stack.Int(150)}})
		if err != nil || len(d.Steps) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		out, err := executor().Apply(t.Context(), d, change.ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	was := l.state("max_connections")
	out := apply()
	l.restart()
	if now := l.state("max_connections"); !strings.HasSuffix(now, "\n150 false") {
		t.Fatalf("after a restart: %s", now)
	}
	if err := executor().Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := l.state("max_connections"); !strings.HasSuffix(now, "\n150 true") {
		t.Fatalf("after the undo: %s", now)
	}
	out = apply()
	if err := executor().Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	l.restart()
	if now := l.state("max_connections"); now != was {
		t.Errorf("left\n%s\nin place of\n%s", now, was)
	}
}

// Of a server that only a data source name leads to, no process is seen.
func TestSuiteOfADistantServer(t *testing.T) {
	l := newLive(t, sandbox.PostgresOptions{})
	given := l.given()
	changetest.Run(t, changetest.Case{
		Doer: l.doer, Setter: postgres.NewSetter(l.cat, &given), Catalog: l.cat,
		Observe: func() *stack.Stack {
			var seen stack.Stack
			obs, err := postgres.NewProbe(l.cat, &given).Collect(t.Context(), l.doer, &seen)
			if err != nil {
				t.Fatal(err)
			}
			seen.Add("postgres", obs)
			return &seen
		},
		Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: given.Address}, Name: "work_mem"}, To: stack.Int(64 << 20),
		State: func() string { return l.state("work_mem") }, Dir: changetest.Journal(t.TempDir()), Few: few(),
	})
}

// A standby takes ALTER SYSTEM, but not less than its primary has.
func TestSuiteOfAStandby(t *testing.T) {
	l := newLive(t, sandbox.PostgresOptions{})
	if err := os.WriteFile(filepath.Join(l.server.Dir, "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l.restart()
	l.suite(t, "work_mem", stack.Int(64<<20))
	l.suite(t, "max_connections", stack.Int(150))
	d, err := l.maker(changetest.Journal(t.TempDir())).Prepare(t.Context(), []change.Step{{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "5432"}, Name: "max_connections"}, To: stack.Int(50)}})
	if err != nil || len(d.Refused) != 1 || !strings.Contains(d.Refused[0].Reason, "this is a standby") {
		t.Errorf("%+v, %v", d, err)
	}
}

// restart stops the server, and starts it on the same data.
func (l *live) restart() {
	l.t.Helper()
	l.db.SetMaxIdleConns(-1) // what is open ends with the server
	p, err := os.FindProcess(l.server.PID)
	if err == nil {
		err = p.Signal(os.Interrupt)
	}
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, gone := os.Stat(filepath.Join(l.server.Dir, "postmaster.pid")); gone != nil {
			break
		}
	}
	if err == nil {
		l.server, err = l.box.Postgres(sandbox.PostgresOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.logIn(l.user)
}

// The oldest and the newest servers; in the newest ALTER SYSTEM can be
// switched off.
func TestSuiteOfVersions(t *testing.T) {
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("fetches servers: PLUMB_REAL=1 runs it")
	}
	for _, version := range []string{"10", "11", "12", "13", "14", "16", "17", "18"} {
		t.Run(version, func(t *testing.T) {
			tree, err := sandbox.PostgresTree(version)
			sandbox.Need(t, err)
			l := newLive(t, sandbox.PostgresOptions{Bindir: tree})
			l.exec("ALTER SYSTEM SET session_preload_libraries = 'auto_explain', 'pg_stat_statements'", "SELECT pg_reload_conf()")
			l.suite(t, "work_mem", stack.Int(64<<20), "ALTER SYSTEM SET work_mem = '7MB'", "SELECT pg_reload_conf()")
			l.suite(t, "vacuum_cost_delay", stack.Int(3000))
			l.suite(t, "max_connections", stack.Int(150))
			l.suite(t, "log_line_prefix", stack.Text("%m [%p] "))
			l.suite(t, "session_preload_libraries", stack.Text("auto_explain"))
			if version < "17" {
				return
			}
			conf, err := os.OpenFile(filepath.Join(l.server.Dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = conf.WriteString("allow_alter_system = off\n")
			if err := errors.Join(err, conf.Close()); err != nil {
				t.Fatal(err)
			}
			l.exec("SELECT pg_reload_conf()")
			l.suite(t, "work_mem", stack.Int(64<<20))
			l.suite(t, "max_wal_size", stack.Int(4<<30))
		})
	}
}
