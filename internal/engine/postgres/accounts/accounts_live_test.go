package accounts_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"plumb/internal/change"
	"plumb/internal/engine/postgres"
	"plumb/internal/engine/postgres/accounts"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask gives the first column of an answer.
func ask(t *testing.T, server *sandbox.Server, database, query string) (all []string) {
	t.Helper()
	db, err := sql.Open("pgx", fmt.Sprintf("host=%s port=%d user=%s dbname=%s", server.Socket, server.Port, server.User, database))
	must(t, err)
	defer db.Close()
	rows, err := db.Query(query)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		must(t, rows.Scan(&s))
		all = append(all, s)
	}
	must(t, rows.Err())
	return all
}

// start starts a new server.
func start(t *testing.T, o sandbox.PostgresOptions) *sandbox.Server {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	server, err := box.Postgres(o)
	sandbox.Need(t, err)
	return server
}

// executor is one with a journal, and a data source name or none.
func executor(t *testing.T, dsn string) *change.Executor {
	t.Helper()
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"postgres": postgres.Dialer{}}, DSN: dsn}))
	t.Cleanup(func() { doer.Close() })
	k := change.NewExecutor(doer, "test")
	k.Dir = t.TempDir() + "/journal"
	return k
}

func apply(t *testing.T, k *change.Executor, acts []change.Act) (number int) {
	t.Helper()
	step := change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "1"}, Name: "accounts"}}, Recipe: change.Recipe{Acts: acts}}
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{})
	must(t, err)
	return out.Number
}

// Databases and their owners, who have no password, come and go; with anything in it a database stays, whatever login
// Plumb was given and whoever forces it.
func TestDatabasesComeAndGo(t *testing.T) {
	server, k := start(t, sandbox.PostgresOptions{}), executor(t, "")
	target := host.Target{Engine: "postgres", Name: "postgres:5432", Network: "unix", Address: server.Socket + "/.s.PGSQL.5432", Logins: []host.Login{{User: "postgres", Database: "postgres"}}}

	want := []spec.Database{{Name: "shop", Owner: "games"}, {Name: "stock", Owner: "games"}}
	acts, err := accounts.Databases(t.Context(), k.Doer, target, want)
	must(t, err)
	if len(acts) != 3 {
		t.Errorf("%d acts for two databases of one owner, want 3", len(acts))
	}
	number := apply(t, k, acts)
	if got := ask(t, server, "postgres", "SELECT datname || ' ' || rolname || ' ' || rolcanlogin || ' ' || (rolpassword IS NULL) FROM pg_database JOIN pg_authid a ON a.oid = datdba WHERE datname LIKE 's%' ORDER BY 1"); !slices.Equal(got, []string{"shop games true true", "stock games true true"}) {
		t.Errorf("there are %q", got)
	}
	if again, err := accounts.Databases(t.Context(), k.Doer, target, want); err != nil || len(again) != 0 {
		t.Errorf("done, there are %d acts left: %v", len(again), err)
	}
	for make, remove := range map[string]string{
		"CREATE TABLE t (a INT)":                   "DROP TABLE t",
		"CREATE SCHEMA mine":                       "DROP SCHEMA mine",
		"SELECT lo_create(77777)":                  "SELECT lo_unlink(77777)",
		"CREATE FUNCTION f() RETURNS INT RETURN 1": "DROP FUNCTION f",
	} {
		ask(t, server, "shop", make)
		for _, o := range []change.UndoOptions{{}, {Force: true}} {
			err := k.Undo(t.Context(), []int{number}, o)
			if _, drifted := errors.AsType[*change.Drifted](err); !drifted {
				t.Fatalf("undone with %+v after %s: %v", o, make, err)
			}
		}
		ask(t, server, "shop", remove)
	}
	must(t, k.Undo(t.Context(), []int{number}, change.UndoOptions{}))
	if got := ask(t, server, "postgres", "SELECT datname FROM pg_database WHERE datname LIKE 's%' UNION SELECT rolname FROM pg_roles WHERE rolname = 'games'"); len(got) > 0 {
		t.Errorf("undone, there are %q", got)
	}
}

// A data source name leads to one database only: what is asked there is not taken for an answer about another.
func TestAnotherDatabaseIsNoAnswer(t *testing.T) {
	server := start(t, sandbox.PostgresOptions{TCP: true, Port: sandbox.FreePort(t)})
	dsn := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", server.Port)
	target, err := postgres.Given(dsn)
	must(t, err)
	k := executor(t, dsn)
	acts, err := accounts.Databases(t.Context(), k.Doer, target, []spec.Database{{Name: "shop", Owner: "games"}})
	must(t, err)
	number := apply(t, k, acts)
	ask(t, server, "shop", "CREATE TABLE t (a INT)")
	if err := k.Undo(t.Context(), []int{number}, change.UndoOptions{Force: true}); err == nil {
		t.Error("undone while a table is there")
	}
	ask(t, server, "shop", "DROP TABLE t")
}
