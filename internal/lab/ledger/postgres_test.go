package ledger

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/lab/experiment"
	"plumb/test/sandbox"
)

func TestPostgresIsRefusedWithReason(t *testing.T) {
	where := database(t)
	for _, c := range []struct{ where, says, hint string }{
		{strings.Replace(where, "/ledger", "/nowhere", 1), "does not exist", "createdb"},
		{strings.Replace(where, "port=5497", "port=5498", 1), "", "host and port right"},
		{strings.Replace(where, "user=postgres", "user=nobody", 1), `role "nobody" does not exist`, "pg_hba.conf"},
		{database(t, "ENCODING LATIN1 TEMPLATE template0"), "encoding LATIN1", "--encoding UTF8"},
		{database(t, "ENCODING SQL_ASCII TEMPLATE template0"), "encoding SQL_ASCII", "--encoding UTF8"},
		{where + "&default_transaction_read_only=on", "read-only transaction", "standby"},
		{"postgres://u:sesame@127.0.0.1:1/db?sslmode=nonsense", "sslmode", ""},
		{"postgres://u:sesame@127.0.0.1:1/db?sslpassword=sesame&connect_timeout=2", "", "host and port right"},
		{"postgres://u:sesame@%zz/db", "", ""},
		{"postgres://u@127.0.0.1:1/db?password=sesame&sslmode=nonsense", "sslmode", ""},
		{"postgresql://127.0.0.1:1/db?user=u&password=sesame&connect_timeout=2", "", "host and port right"},
	} {
		_, err := Open(t.Context(), c.where)
		refused(t, err, c.says, c.hint)
		if strings.Contains(err.Error(), "sesame") {
			t.Errorf("the password is in %v", err)
		}
		t.Log(err)
	}
}

func TestPostgresWithFewRights(t *testing.T) {
	where := database(t)
	for _, role := range []string{"few", "own", "reader"} {
		admin(t, where, "DROP ROLE IF EXISTS "+role, "CREATE ROLE "+role+" LOGIN")
	}
	as := func(role string) string { return strings.Replace(where, "user=postgres", "user="+role, 1) }
	_, err := Open(t.Context(), as("few"))
	refused(t, err, "permission denied for database", "CREATE on the database")
	admin(t, where, "CREATE SCHEMA plumb_lab AUTHORIZATION own", "GRANT USAGE ON SCHEMA plumb_lab TO reader",
		"ALTER DEFAULT PRIVILEGES FOR ROLE own IN SCHEMA plumb_lab GRANT SELECT ON TABLES TO reader")
	l := opened(t, as("own"))
	ok(t, l.Define(t.Context(), sample(), "v0.5"))
	ok(t, l.Begin(t.Context(), record("t", 1)))
	_, err = Open(t.Context(), as("few"))
	refused(t, err, "permission denied for schema", "rights on its tables")
	reader := opened(t, as("reader"))
	if records := recordsOf(t, reader); len(records) != 1 {
		t.Errorf("%d records", len(records))
	}
	refused(t, reader.Begin(t.Context(), record("u", 1)), "permission denied", "rights on its tables")
	// Roles belong to the server, their rights to this database.
	t.Cleanup(func() {
		for _, role := range []string{"few", "reader", "own"} {
			admin(t, where, "DROP OWNED BY "+role+" CASCADE", "DROP ROLE "+role)
		}
	})
}

func TestPostgresSessionsAreSettled(t *testing.T) {
	where := database(t)
	name := where[strings.Index(where, "ledger"):strings.Index(where, "?")]
	admin(t, where, "ALTER DATABASE "+name+" SET synchronous_commit = off", "ALTER DATABASE "+name+" SET idle_session_timeout = '10s'")
	l := opened(t, where)
	for setting, want := range map[string]string{"synchronous_commit": "on", "idle_session_timeout": "0", "application_name": "plumb lab", "search_path": "plumb_lab"} {
		var got string
		ok(t, l.db.QueryRowContext(t.Context(), "SHOW "+setting).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
	admin(t, where, "ALTER DATABASE "+name+" SET synchronous_commit = remote_apply") // more than on is left alone
	var got string
	ok(t, opened(t, where).db.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&got))
	if got != "remote_apply" {
		t.Errorf("synchronous_commit is %s", got)
	}
}

func TestLostLockIsTold(t *testing.T) {
	where := database(t)
	l, ctx := opened(t, where), t.Context()
	unlock, err := l.Lock(ctx, "h")
	ok(t, err)
	const held = `FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	admin(t, where, "SELECT pg_terminate_backend(pid) "+held)
	other := opened(t, where)
	for n := 1; n > 0; time.Sleep(10 * time.Millisecond) { // a session ends some time after it was told to
		ok(t, other.db.QueryRowContext(ctx, "SELECT count(*) "+held).Scan(&n))
	}
	again, err := other.Lock(ctx, "h")
	ok(t, err)
	refused(t, unlock(), "another lab may have run the experiment", "times of the trials")
	ok(t, again())
}

// A server that is restarted, or fails over, costs no trial.
func TestPostgresIsRestarted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a PostgreSQL")
	}
	b, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() { ok(t, b.Close()) })
	options := sandbox.PostgresOptions{Port: 5496}
	s, err := b.Postgres(options)
	sandbox.Need(t, err)
	where := address(s, "postgres")
	l, ctx := opened(t, where), t.Context()
	ok(t, l.Define(ctx, sample(), "v0.5"))
	ok(t, l.Begin(ctx, record("t", 1)))
	stopServer(t, s)
	done := make(chan error)
	go func() {
		_, err := l.Put(ctx, []byte("log"))
		if err == nil {
			err = l.Finish(ctx, record("t", 1))
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(2 * time.Second):
	}
	_, err = b.Postgres(options)
	ok(t, err)
	ok(t, <-done)
	if records := recordsOf(t, l); len(records) != 1 || records[0].Has(experiment.MarkCut) {
		t.Errorf("%+v", records)
	}
	// A lab that is told to end does not wait.
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	if err := l.Begin(ctx, record("u", 1)); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// stopServer shuts it down at once, as a failover does.
func stopServer(t *testing.T, s *sandbox.Server) {
	t.Helper()
	p, err := os.FindProcess(s.PID)
	ok(t, err)
	ok(t, p.Signal(syscall.SIGQUIT))
	for end := time.Now().Add(time.Minute); p.Signal(syscall.Signal(0)) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not end")
		}
	}
}

// What is used of PostgreSQL is there in the oldest version we know and in the newest.
func TestPostgresVersions(t *testing.T) {
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("set PLUMB_REAL=1 to start servers of several versions")
	}
	for _, version := range []string{"10", "13", "18"} {
		t.Run(version, func(t *testing.T) {
			tree, err := sandbox.PostgresTree(version)
			sandbox.Need(t, err)
			b, err := sandbox.New("")
			sandbox.Need(t, err)
			t.Cleanup(func() { ok(t, b.Close()) })
			s, err := b.Postgres(sandbox.PostgresOptions{Bindir: tree, Port: 5495})
			sandbox.Need(t, err)
			l, ctx := opened(t, address(s, "postgres")), t.Context()
			ok(t, l.Define(ctx, sample(), "v0.5"))
			unlock, err := l.Lock(ctx, sample().Hash)
			ok(t, err)
			ok(t, l.Begin(ctx, record("t", 1)))
			sha, err := l.Put(ctx, []byte("log"))
			ok(t, err)
			_, err = l.Get(ctx, sha)
			ok(t, err)
			ok(t, l.Finish(ctx, record("t", 1)))
			if diff := cmp.Diff([]experiment.Record{record("t", 1)}, recordsOf(t, l)); diff != "" {
				t.Error(diff)
			}
			all, err := l.Experiments(ctx)
			ok(t, err)
			if len(all) != 1 || all[0].Valid != 1 {
				t.Errorf("%+v", all)
			}
			ok(t, unlock())
		})
	}
}
