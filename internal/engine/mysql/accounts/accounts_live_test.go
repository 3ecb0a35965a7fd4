package accounts_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/accounts"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// everybody lists who is in the server, how they come in and what they may do, in the server's own
// words: how it keeps that differs between what was there when it was made and what was set since.
func everybody(t *testing.T, db *sql.DB) string {
	t.Helper()
	ask := func(query string) (all []string) {
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
	var out strings.Builder
	for _, who := range ask("SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) FROM mysql.global_priv ORDER BY 1") {
		fmt.Fprintln(&out, ask("SHOW CREATE USER "+who), ask("SHOW GRANTS FOR "+who))
	}
	return out.String()
}

func TestNobodyComesInWithoutAName(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real server: run without -short")
	}
	box, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	server, err := box.MySQL(sandbox.MySQLOptions{})
	sandbox.Need(t, err)
	db, err := server.Open()
	must(t, err)
	defer db.Close()
	for _, s := range []string{"CREATE USER ''@'localhost'", "GRANT SELECT ON mysql.* TO ''@'localhost'", "CREATE USER open@'10.%'", "CREATE USER shut@'%' IDENTIFIED BY 'x'",
		"CREATE USER barred@'%' ACCOUNT LOCK", "CREATE USER keeper@localhost IDENTIFIED BY 'k'", "GRANT ALL ON *.* TO keeper@localhost WITH GRANT OPTION"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	dsn := "keeper:k@unix(" + server.Socket + ")/" // root itself may be shut out by what is tested
	target, err := mysql.Given(dsn)
	must(t, err)
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: dsn}))
	defer doer.Close()
	before := everybody(t, db)
	r, err := accounts.Recipe(t.Context(), doer, target, "mariadb")
	must(t, err)
	var on []string
	for _, a := range r.Acts {
		on = append(on, strings.TrimPrefix(a.Switch.On, target.Name+" "))
	}
	for _, want := range []string{"account ''@'localhost'", "lock of 'open'@'10.%'"} {
		if !slices.Contains(on, want) {
			t.Errorf("the acts are on %v, and none is on %s", on, want)
		}
	}
	for _, other := range []string{"shut", "barred", "keeper"} {
		if strings.Contains(fmt.Sprint(on), other) {
			t.Errorf("%s has a password, or is locked, and there is an act on it: %v", other, on)
		}
	}
	k := change.NewExecutor(doer, "test")
	k.Dir = t.TempDir() + "/journal"
	step := change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "1"}, Name: "accounts"}}, Recipe: r}
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{})
	must(t, err)
	if again, err := accounts.Recipe(t.Context(), doer, target, "mariadb"); err != nil || len(again.Acts) != 0 {
		t.Errorf("done, it has %d acts left to do: %v", len(again.Acts), err)
	}
	if db2, err := sql.Open("mysql", "nobody@unix("+server.Socket+")/"); err == nil {
		if err := db2.Ping(); err == nil {
			t.Error("somebody without an account comes in")
		}
		db2.Close()
	}
	must(t, k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}))
	if after := everybody(t, db); after != before {
		t.Errorf("undone, there are\n%s\nand there were\n%s", after, before)
	}
}
