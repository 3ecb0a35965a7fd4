package sampler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"plumb/internal/engine/postgres"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// plan asks, as a role, for the plan of the statement whose text begins so.
func (l *live) plan(role, begins string, powerful bool) series.Plan {
	l.T.Helper()
	id := ""
	if err := l.DB.QueryRow("SELECT queryid || '/' || userid || '/' || dbid FROM pg_stat_statements WHERE query LIKE $1 LIMIT 1", begins+"%").Scan(&id); err != nil {
		l.T.Fatalf("the id of %s: %v", begins, err)
	}
	dsn := "postgres://" + role + "@/postgres?host=" + l.server.Socket
	given, err := postgres.Given(dsn)
	sandbox.Need(l.T, err)
	h := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{kind: postgres.Dialer{}, postgres.PlannerEngine: postgres.Planner{}}, DSN: dsn})
	defer h.Close()
	s, ref := samplertest.LoggedIn(kind, given.Address)
	return sample.Plan(context.Background(), Planner{New(&given), powerful}, h, s, series.Statement{Of: ref, ID: id})
}

// TestPlans asks for plans on real servers; before 16 it is said what is missing.
func TestPlans(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Exec("CREATE EXTENSION pg_stat_statements", "CREATE SCHEMA app", "CREATE TABLE app.orders (id int PRIMARY KEY, v text, n int)", "CREATE TABLE orders (other int)", "INSERT INTO app.orders SELECT i, 'a', i FROM generate_series(1, 5000) i",
			"CREATE INDEX by_v ON app.orders (v)", "ANALYZE app.orders", "CREATE ROLE reader LOGIN", "GRANT pg_monitor TO reader", "GRANT USAGE ON SCHEMA app TO reader", "GRANT SELECT, UPDATE ON app.orders TO reader",
			"ALTER ROLE postgres SET search_path = app, public")
		c := l.Held("SELECT n FROM orders WHERE v = 'secret-literal' AND n > 4711", "UPDATE orders SET n = 4711 WHERE id = 5", "SELECT n FROM orders ORDER BY n + 4711")
		defer c.Close()
		if l.major() < 16 {
			if p := l.plan("reader", "SELECT n FROM orders WHERE", false); len(p.Steps) > 0 || !strings.Contains(p.Why, "since 16") || p.Hint == "" {
				t.Errorf("before 16: %+v", p)
			}
			return
		}
		p, change, sorts := l.plan("reader", "SELECT n FROM orders WHERE", false), l.plan("reader", "UPDATE orders", false), l.plan("reader", "SELECT n FROM orders ORDER", false)
		for what, c := range map[string]struct {
			of   series.Plan
			want string
		}{"a SELECT": {p, "on orders"}, "a change": {change, "Update on orders"}, "one that sorts": {sorts, "Sort"}} {
			if all := fmt.Sprintf("%+v", c.of); !strings.Contains(all, c.want) || len(c.of.Steps) == 0 || strings.Contains(all, "4711") || strings.Contains(all, "secret") {
				t.Errorf("of %s: %s", what, all)
			}
		}
		super := l.plan("postgres", "SELECT n FROM orders WHERE", false)
		if len(super.Steps) > 0 || !strings.Contains(super.Hint, "--plans-as-superuser") {
			t.Errorf("as a superuser: %+v", super)
		}
		if p := l.plan("postgres", "SELECT n FROM orders WHERE", true); len(p.Steps) == 0 {
			t.Errorf("as one, when a person said so: %+v", p)
		}
		var n int
		if err := l.DB.QueryRow("SELECT n FROM app.orders WHERE id = 5").Scan(&n); err != nil || n != 4711 {
			t.Errorf("%d, %v", n, err)
		}
		l.notRun(t)
	})
}

func (l *live) major() (n int) {
	l.T.Helper()
	sandbox.Need(l.T, l.DB.QueryRow("SELECT current_setting('server_version_num')::int / 10000").Scan(&n))
	return n
}

// notRun has a statement call a function of an attacker's that says it cannot
// change anything. Planning runs it: with the rights of whoever plans.
func (l *live) notRun(t *testing.T) {
	l.Exec("CREATE ROLE attacker LOGIN", "GRANT CREATE, USAGE ON SCHEMA app TO attacker", "SET ROLE attacker; CREATE FUNCTION app.evil() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$; RESET ROLE")
	l.Exec("DO $$ BEGIN PERFORM n FROM orders WHERE id = evil(); EXCEPTION WHEN raise_exception THEN NULL; END $$")
	l.Exec("CREATE OR REPLACE FUNCTION app.evil() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'")
	c := l.Held("SELECT n FROM app.orders WHERE id = app.evil() AND v <> 'secret-literal'")
	defer c.Close()
	l.Exec("CREATE OR REPLACE FUNCTION app.evil() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$")
	begins := "SELECT n FROM app.orders WHERE id = app.evil()"
	if p := l.plan("postgres", begins, true); !strings.Contains(p.Why, "P0001, raise_exception") || strings.Contains(p.Why, "ran as") {
		t.Errorf("this proves nothing: planning ran no function: %+v", p)
	}
	if p := l.plan("postgres", begins, false); strings.Contains(p.Why, "SQLSTATE") || p.Hint == "" {
		t.Errorf("planning ran a function of an attacker's as a superuser: %+v", p)
	}
}
