package accounts_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/engine/mysql/accounts"
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
	s := newScene(t, "keeper:k") // root itself may be shut out by what is tested
	db, err := s.server.Open()
	must(t, err)
	defer db.Close()
	for _, statement := range []string{"CREATE USER ''@'localhost'", "GRANT SELECT ON mysql.* TO ''@'localhost'", "CREATE USER open@'10.%'", "CREATE USER shut@'%' IDENTIFIED BY 'x'",
		"CREATE USER barred@'%' ACCOUNT LOCK", "CREATE USER keeper@localhost IDENTIFIED BY 'k'", "GRANT ALL ON *.* TO keeper@localhost WITH GRANT OPTION"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	before := everybody(t, db)
	r, err := accounts.Recipe(t.Context(), s.doer, s.target, "mariadb")
	must(t, err)
	var on []string
	for _, a := range r.Acts {
		on = append(on, strings.TrimPrefix(a.Switch.On, s.target.Name+" "))
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
	number := s.apply(r)
	if again, err := accounts.Recipe(t.Context(), s.doer, s.target, "mariadb"); err != nil || len(again.Acts) != 0 {
		t.Errorf("done, it has %d acts left to do: %v", len(again.Acts), err)
	}
	if db2, err := sql.Open("mysql", "nobody@unix("+s.server.Socket+")/"); err == nil {
		if err := db2.Ping(); err == nil {
			t.Error("somebody without an account comes in")
		}
		db2.Close()
	}
	must(t, s.k.Undo(t.Context(), []int{number}, change.UndoOptions{}))
	if after := everybody(t, db); after != before {
		t.Errorf("undone, there are\n%s\nand there were\n%s", after, before)
	}
}
