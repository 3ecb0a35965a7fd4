package sampler

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// inParallel has two workers run sleepy, and nobody else.
var inParallel = []string{"SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0", "SET min_parallel_table_scan_size = 0", "SET parallel_leader_participation = off"}

const sleepy = "SELECT count(*) FROM t WHERE pg_sleep(0.1)::text = ''"

// TestParallelWorkers: what they do is what their client waits for. They are listed with whom they help, and are no connections.
func TestParallelWorkers(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		tr, err := l.of.learn(context.Background(), l.Host)
		if err != nil {
			t.Fatal(err)
		}
		if !tr.tellsLeaders() {
			t.Skip("before 13 the server does not tell whom a worker helps")
		}
		l.Exec("CREATE TABLE t (id int) WITH (parallel_workers = 2)", "INSERT INTO t SELECT generate_series(1, 2000)")
		busy := l.Held(inParallel...)
		leader := l.idOf(busy)
		l.Later(busy, sleepy)
		defer func() { l.Exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", leader)) }()
		// Another test that looks at the whole machine connects for a moment, too, and a worker that has just begun does not sleep yet.
		b := l.Until("sessions", "two workers of two connections, which sleep", func(b series.Batch) bool {
			return samplertest.Reads(b, "sessions_active") == 2 && samplertest.Reads(b, "sessions_other") == 2 && len(b.Sessions) == 3 &&
				samplertest.Reads(b, "connections_used") == 2
		})
		help := 0
		for _, s := range b.Sessions {
			switch {
			case s.ID == leader && s.Active && s.Wait == "IPC:ExecuteGather":
			case s.User == fmt.Sprintf("parallel worker of %d", leader) && s.Active && s.Wait == "Timeout:PgSleep":
				help++
			default:
				t.Errorf("%+v", s)
			}
		}
		if help != 2 {
			t.Errorf("%d workers: %+v", help, b.Sessions)
		}
	})
}

// TestWorkersOfPlumb: those of another Plumb count as little as its session, and it is known by whom they help: they say neither
// from where they are asked nor hide behind that.
func TestWorkersOfPlumb(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings, TCP: true, Port: sandbox.FreePort(t)})
	l.Exec("CREATE TABLE t (id int) WITH (parallel_workers = 2)", "INSERT INTO t SELECT generate_series(1, 2000)")
	db, err := sql.Open("pgx", fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres application_name=plumb", l.server.Port))
	sandbox.Need(t, err)
	t.Cleanup(func() { db.Close() })
	busy, err := db.Conn(t.Context())
	sandbox.Need(t, err)
	for _, q := range inParallel {
		_, err = busy.ExecContext(t.Context(), q)
		sandbox.Need(t, err)
	}
	leader := l.idOf(busy)
	l.Later(busy, sleepy)
	defer func() { l.Exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", leader)) }()
	tr := traits{major: 15}
	// Another test that looks at the whole machine asks this server, too: only this session and its workers are counted.
	count := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE (pid = %d OR leader_pid = %[1]d) AND pid <> pg_backend_pid() AND (%s AND %s OR %s)", leader, isSession, notOurs, tr.isWorker())
	seen := func(db *sql.DB) (n int) {
		sandbox.Need(t, db.QueryRowContext(t.Context(), count).Scan(&n))
		return n
	}
	for end := time.Now().Add(time.Minute); seen(l.DB) != 3; time.Sleep(l.Pause) { // who asks by a socket is another, whatever the name
		if time.Now().After(end) {
			t.Fatalf("%d of the three are at work", seen(l.DB))
		}
	}
	if n := seen(db); n != 0 {
		t.Errorf("a Plumb that asks as that one does sees %d of it at work", n)
	}
}
