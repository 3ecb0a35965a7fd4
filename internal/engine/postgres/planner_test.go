package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/internal/host"
)

// refusing is a session whose server answers with an error.
type refusing struct{ code string }

func (r refusing) Query(context.Context, string, host.QueryLimits) (host.Rows, error) {
	return host.Rows{}, meaning(&pgconn.PgError{Code: r.code, Message: `invalid input syntax for type integer: "a-literal"`})
}

func (refusing) Close() error { return nil }

// What a server says of a statement can quote a literal that was left in its text.
func TestErrorsOfAPlanQuoteNothing(t *testing.T) {
	for code, want := range map[string]struct {
		says string
		kind error
	}{"22P02": {"SQLSTATE 22P02;", nil}, "42P01": {"SQLSTATE 42P01, undefined_table;", nil}, "42501": {"SQLSTATE 42501;", host.ErrDenied},
		"57014": {"SQLSTATE 57014, query_canceled;", context.DeadlineExceeded}} {
		_, err := planning{Session: refusing{code}}.Query(t.Context(), "", host.QueryLimits{})
		if err == nil || !strings.Contains(err.Error(), want.says) || strings.Contains(err.Error(), "literal") || want.kind != nil && !errors.Is(err, want.kind) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

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
