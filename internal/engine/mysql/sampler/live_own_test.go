package sampler

import (
	"context"
	"strings"
	"testing"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/test/sandbox"
)

// TestOwnStatements: all that a server counts of our sessions, from the first statement of
// each, is known as ours.
func TestOwnStatements(t *testing.T) {
	onServers(t, func(t *testing.T, l *live, schema bool) {
		if !schema {
			return // it counts no statements
		}
		given, err := mysql.Given("root@unix(" + l.server.Socket + ")/")
		sandbox.Need(t, err)
		dialers := map[string]host.Dialer{kind: mysql.Dialer{}, mysql.PlannerEngine: mysql.Planner{}}
		h := host.NewLive(host.LiveOptions{Dialers: dialers, DSN: "root@unix(" + l.server.Socket + ")/"})
		t.Cleanup(func() { h.Close() })
		own := sample.NewOwn(h, dialers)
		var taken []string
		opened := false // what sessions are opened with was counted
		for range 5 {   // a Plumb that a test beside this one runs may ask this server too
			l.Exec(forget)
			for _, part := range []string{"status", "sessions", "files", "history", "statements"} {
				_, err := l.source(part).Take(t.Context(), own)
				sandbox.Need(t, err)
			}
			if _, err := own.Query(t.Context(), mysql.ToPlan(given, "mysql"), mysql.Explain("SELECT 1")); err != nil {
				t.Error(err)
			}
			var set bool
			taken, set = l.others(own)
			if opened = opened || set; len(taken) == 0 {
				break
			}
		}
		if len(taken) > 0 || !opened {
			t.Errorf("taken for a client's: %q; what sessions are opened with was counted: %t", taken, opened)
		}
	})
}

const forget = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest"

// others gives what the server has counted besides our statements and one of the test, and tells whether sessions were set.
func (l *live) others(own *sample.Own) (all []string, set bool) {
	l.T.Helper()
	rows, err := l.DB.QueryContext(context.Background(), "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NOT NULL")
	sandbox.Need(l.T, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		sandbox.Need(l.T, rows.Scan(&text))
		set = set || strings.HasPrefix(text, "SET ")
		if !own.Has(text) && !sample.SameWords(text, forget) {
			all = append(all, text)
		}
	}
	sandbox.Need(l.T, rows.Err())
	return all, set
}
