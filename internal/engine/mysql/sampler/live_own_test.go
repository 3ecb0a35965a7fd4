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
		const forget = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest"
		l.Exec(forget)
		given, err := mysql.Given("root@unix(" + l.server.Socket + ")/")
		sandbox.Need(t, err)
		dialers := map[string]host.Dialer{kind: mysql.Dialer{}, mysql.PlannerEngine: mysql.Planner{}}
		h := host.NewLive(host.LiveOptions{Dialers: dialers, DSN: "root@unix(" + l.server.Socket + ")/"})
		t.Cleanup(func() { h.Close() })
		own := sample.NewOwn(h, dialers)
		for _, part := range []string{"status", "sessions", "files", "history", "statements"} {
			_, err := l.source(part).Take(t.Context(), own)
			sandbox.Need(t, err)
		}
		if _, err := own.Query(t.Context(), mysql.ToPlan(given, "mysql"), mysql.Explain("SELECT 1")); err != nil {
			t.Error(err)
		}
		l.onlyOwn(own, forget)
	})
}

// onlyOwn looks at all that the server has counted: besides one statement of the test it is ours.
func (l *live) onlyOwn(own *sample.Own, but string) {
	l.T.Helper()
	rows, err := l.DB.QueryContext(context.Background(), "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NOT NULL")
	sandbox.Need(l.T, err)
	defer rows.Close()
	set := false
	for rows.Next() {
		var text string
		sandbox.Need(l.T, rows.Scan(&text))
		set = set || strings.HasPrefix(text, "SET ")
		if !own.Has(text) && !sample.SameWords(text, but) {
			l.T.Errorf("taken for a client's: %s", text)
		}
	}
	sandbox.Need(l.T, rows.Err())
	if !set {
		l.T.Error("what sessions are opened with was not counted, so this proves nothing")
	}
}
