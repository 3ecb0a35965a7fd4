package sampler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// planned is a server with a table and a user who may only read it.
func planned(t *testing.T, o sandbox.MySQLOptions) *live {
	t.Helper()
	l := start(t, o)
	l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(100), n INT, KEY by_v (v))",
		"INSERT INTO shop.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)", "CREATE USER reader@localhost", "GRANT PROCESS ON *.* TO reader@localhost",
		"GRANT SELECT ON performance_schema.* TO reader@localhost", "GRANT SELECT ON shop.* TO reader@localhost")
	l.DB.SetMaxIdleConns(8)
	return l
}

// plan runs a statement, and asks for its plan as a user.
func (l *live) plan(user, text string, powerful bool) series.Plan {
	l.T.Helper()
	return l.planOf(user, l.digestOf(text), powerful)
}

// digestOf runs a statement in a session that stays, and gives its digest.
func (l *live) digestOf(text string) (digest string) {
	l.T.Helper()
	c := l.Held("USE shop")
	id := l.idOf(c)
	if _, err := c.ExecContext(context.Background(), text); err != nil {
		l.T.Fatalf("%s: %v", text, err)
	}
	for end := time.Now().Add(time.Minute); digest == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // the client has its answer a little before the event ends
		_ = l.DB.QueryRow("SELECT DIGEST FROM performance_schema.events_statements_current JOIN performance_schema.threads USING (THREAD_ID) WHERE PROCESSLIST_ID = ? AND DIGEST IS NOT NULL ORDER BY EVENT_ID LIMIT 1", id).Scan(&digest)
	}
	if digest == "" {
		l.T.Fatalf("%s has no digest", text)
	}
	return digest
}

// planOf asks for the plan of the statement of a digest, as a user.
func (l *live) planOf(user, digest string, powerful bool) series.Plan {
	l.T.Helper()
	dsn := user + "@unix(" + l.server.Socket + ")/"
	given, err := mysql.Given(dsn)
	sandbox.Need(l.T, err)
	h := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{kind: mysql.Dialer{}, mysql.PlannerEngine: mysql.Planner{}}, DSN: dsn})
	defer h.Close()
	s, ref := samplertest.LoggedIn(kind, given.Address)
	return sample.Plan(context.Background(), Planner{New(&given), powerful}, h, s, series.Statement{Of: ref, Database: "shop", ID: digest + "/shop"})
}

const planSettings = "performance_schema = ON\nperformance_schema_consumer_events_statements_current = ON\nperformance_schema_consumer_global_instrumentation = ON"

// TestPlans asks for plans on real servers: what holds of a SELECT, of a change,
// of what a session runs now, and for whom.
func TestPlans(t *testing.T) {
	t.Run("MariaDB", func(t *testing.T) { plans(t, planned(t, sandbox.MySQLOptions{Settings: planSettings}), "reader") })
	t.Run("MySQL", func(t *testing.T) {
		sandbox.NeedTime(t, "MySQL is fetched: PLUMB_REAL=1")
		base, loader, err := sandbox.MySQLTree()
		sandbox.Need(t, err)
		plans(t, planned(t, sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true}), "root") // MySQL shows what other users' sessions do to who has all rights
	})
}

func plans(t *testing.T, l *live, sees string) {
	p := l.plan("reader", "SELECT id FROM t WHERE v = 'secret-literal' AND n > 4711", false)
	if all := fmt.Sprintf("%+v", p); len(p.Steps) == 0 || !strings.Contains(all, "by_v") || p.By == "" {
		t.Errorf("of a SELECT: %+v", p)
	}
	sorts := l.plan("reader", "SELECT n FROM t WHERE n > 4711 ORDER BY n", false)
	if !slices.ContainsFunc(sorts.Steps, func(s series.PlanStep) bool { return s.Mark && strings.Contains(s.Does, "all rows of t") }) ||
		!slices.ContainsFunc(sorts.Steps, func(s series.PlanStep) bool { return s.Does == "sorts" }) {
		t.Errorf("of one that reads all and sorts: %+v", sorts)
	}
	root := l.plan("root", "SELECT id FROM t WHERE v = 'secret-literal' AND n > 4711", false)
	if len(root.Steps) > 0 || !strings.Contains(root.Hint, "--plans-as-superuser") {
		t.Errorf("as a user who may do everything: %+v", root)
	}
	if said := l.plan("root", "SELECT id FROM t WHERE v = 'secret-literal' AND n > 4711", true); len(said.Steps) == 0 {
		t.Errorf("as such a user, when a person said so: %+v", said)
	}
	change := l.plan("reader", "UPDATE t SET n = 4711 WHERE v = 'secret-literal'", false)
	if len(change.Steps) > 0 || change.Why == "" {
		t.Errorf("of a change that nobody makes now: %+v", change)
	}
	for _, p := range []series.Plan{p, sorts, root, change} {
		if all := fmt.Sprintf("%+v", p); strings.Contains(all, "secret") || strings.Contains(all, "4711") {
			t.Errorf("a literal: %s", all)
		}
	}
	l.plannedNow(t, sees)
	l.notRun(t)
}

// plannedNow asks while a session changes rows. It runs nothing, and so may be
// asked with any rights.
func (l *live) plannedNow(t *testing.T, user string) {
	l.Exec("INSERT INTO shop.t SELECT a.id * 10000 + b.id * 100 + c.id + 10, 'x', 0 FROM shop.t a, shop.t b, shop.t c")
	for range 4 {
		l.Exec("INSERT IGNORE INTO shop.t SELECT id * 7 + 13, 'x', 0 FROM shop.t")
	}
	change := "DELETE FROM t WHERE id < %d AND SLEEP(0.05 + n * 0) = 1 AND v <> 'secret-literal'"
	digest := l.digestOf(fmt.Sprintf(change, 0))
	waiter := l.Held("USE shop")
	l.Later(waiter, fmt.Sprintf(change, 1000000))
	var p series.Plan
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && len(p.Steps) == 0; time.Sleep(50 * time.Millisecond) {
		p = l.planOf(user, digest, false)
	}
	if all := fmt.Sprintf("%+v", p); len(p.Steps) == 0 || !strings.Contains(p.By, "runs it now") || strings.Contains(all, "secret") {
		t.Errorf("of what a session runs now: %s", all)
	}
}

// notRun has a statement call a function of an attacker's, which leaves a trace
// in the server when it runs with rights that he has not.
func (l *live) notRun(t *testing.T) {
	l.Exec("CREATE FUNCTION shop.evil() RETURNS INT DETERMINISTIC SQL SECURITY INVOKER BEGIN SET GLOBAL connect_timeout = 77; RETURN 1; END")
	digest := l.digestOf("SELECT v FROM t WHERE id = evil() AND n = 5")
	for _, powerful := range []bool{true, false} {
		l.Exec("SET GLOBAL connect_timeout = 10") // the test ran the statement as root
		p := l.planOf("root", digest, powerful)
		got := ""
		if err := l.DB.QueryRow("SELECT @@global.connect_timeout").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !powerful && (got != "10" || len(p.Steps) > 0) {
			t.Errorf("explaining ran a function with root's rights: connect_timeout is %s, plan %+v", got, p)
		}
		t.Logf("rights used: %v; connect_timeout is %s; %s", powerful, got, p.Why) // a server that never runs it proves nothing here
	}
}

func TestReadPlan(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"MySQL 9.7": {`{"query_block": {"select_id": 1, "cost_info": {"query_cost": "3.25"}, "ordering_operation": {"using_filesort": true, "table": {"table_name": "t", "access_type": "ALL",
			"rows_examined_per_scan": 3, "rows_produced_per_join": 1, "filtered": "33.33", "cost_info": {"read_cost": "0.45", "prefix_cost": "0.55"}, "attached_condition": "(t.n > 4711)"}}}}`,
			"0 sorts!; 1 reads all rows of t rows 3 cost 0.55!"},
		"MariaDB 10.11": {`{"query_block": {"select_id": 1, "nested_loop": [{"table": {"table_name": "a", "access_type": "range", "possible_keys": ["n"], "key": "n", "key_length": "5", "used_key_parts": ["n"], "rows": 998, "filtered": 100, "attached_condition": "a.n < 500"}},
			{"table": {"table_name": "b", "access_type": "eq_ref", "key": "PRIMARY", "used_key_parts": ["id"], "ref": ["a.x"], "rows": 1, "using_index": true}}]}}`,
			"0 reads a range of index n (n) of a rows 998; 0 looks up b by index PRIMARY (id), eq_ref, in the index alone rows 1"},
		"nothing is read": {`{"query_block": {"select_id": 1, "table": {"message": "Impossible WHERE"}}}`, "1 Impossible WHERE"},
		"subqueries": {`{"query_block": {"filesort": {"sort_key": "t.s > 'secret'", "temporary_table": {"table": {"table_name": "d", "access_type": "ALL", "materialized": {"query_block": {"table": {"table_name": "u", "access_type": "index", "key": "k"}}}}}}}}`,
			"0 sorts!; 1 keeps rows in a temporary table!; 2 reads all rows of d!; 3 keeps the rows of a subquery; 4 reads the whole of index k of u!"},
	} {
		steps, err := readPlan([]byte(c.text))
		if got := shownSteps(steps); err != nil || got != c.want {
			t.Errorf("%s: %q, %v\nwant %q", name, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "{}", "[", `{"a": 1`, "null", strings.Repeat("[", 5000), `{"query_block": {"table": 7}}`} {
		if steps, err := readPlan([]byte(bad)); err == nil {
			t.Errorf("%.40q gave %v", bad, steps)
		}
	}
}

func shownSteps(steps []series.PlanStep) string {
	var out []string
	for _, s := range steps {
		text := fmt.Sprintf("%d %s", s.Depth, s.Does)
		if s.Rows != nil {
			text += fmt.Sprintf(" rows %g", *s.Rows)
		}
		if s.Cost != nil {
			text += fmt.Sprintf(" cost %g", *s.Cost)
		}
		if s.Mark {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func FuzzReadPlan(f *testing.F) {
	f.Add([]byte(`{"query_block": {"table": {"table_name": "t", "access_type": "ALL", "rows": "3"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		steps, err := readPlan(text)
		if err == nil && (len(steps) == 0 || len(steps) > series.MostPlanSteps) {
			t.Errorf("%d steps", len(steps))
		}
	})
}
