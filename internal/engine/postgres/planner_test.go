package postgres

import (
	"fmt"
	"testing"
)

func TestAPlannerOnlyExplains(t *testing.T) {
	path := []string{"app", `we"ird; DROP`}
	for text, want := range map[string]bool{
		"SELECT * FROM orders WHERE id = $1":                        true,
		"UPDATE orders SET n = $1 WHERE id = $2":                    true,
		"INSERT INTO orders (n) VALUES ($1) ON CONFLICT DO NOTHING": true,
		"ANALYZE SELECT 1":                                          false,
		"SELECT pg_terminate_backend($1)":                           false,
		"SELECT 1; DROP TABLE orders":                               false,
		"CREATE TABLE x AS SELECT 1":                                false,
		"EXECUTE evil":                                              false,
		"":                                                          false,
	} {
		if got := (Planner{}).Reads(Explain(path, text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, query := range []string{"SELECT 1", "EXPLAIN SELECT 1", "SET LOCAL search_path = app; EXPLAIN (GENERIC_PLAN, FORMAT JSON) SELECT 1",
		`SET LOCAL search_path = "a"; EXPLAIN (ANALYZE, FORMAT JSON) SELECT 1`, `SET LOCAL search_path = "a"; SET ROLE x; EXPLAIN (GENERIC_PLAN, FORMAT JSON) SELECT 1`,
		`SET search_path = "a"; EXPLAIN (GENERIC_PLAN, FORMAT JSON) SELECT 1`} {
		if (Planner{}).Reads(query) {
			t.Errorf("allowed: %s", query)
		}
	}
	if (Dialer{}).Reads(Explain(path, "SELECT 1")) {
		t.Error("an ordinary session takes what is a planner's")
	}
}

func TestSearchPath(t *testing.T) {
	for setting, want := range map[string]string{
		`"$user", public`:          `["me" "public"]`,
		`app, "Odd, name", "a""b"`: `["app" "Odd, name" "a\"b"]`,
		`App`:                      `["app"]`,
		`""`:                       `[]`,
		``:                         `[]`,
		`public, public`:           `["public"]`,
	} {
		if got := fmt.Sprintf("%q", SearchPath(setting, "me")); got != want {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
	}
}

func FuzzSearchPath(f *testing.F) {
	f.Add(`"$user", public`)
	f.Fuzz(func(t *testing.T, setting string) {
		path := SearchPath(setting, "me")
		if query := Explain(path, "SELECT 1"); !(Planner{}).Reads(query) {
			for _, s := range path { // a name that no server can have
				for _, r := range s {
					if r == 0 || r == '\\' || r == '\uFFFD' {
						return
					}
				}
			}
			t.Errorf("refused: %q", query)
		}
	})
}
