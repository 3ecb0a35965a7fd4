package sampler

import (
	"context"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestAResetIsTold: what is counted of a statement was not counted before all were reset, even if it has come further since.
func TestAResetIsTold(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Exec("CREATE EXTENSION pg_stat_statements", "SELECT 1")
		tr, err := l.of.learn(context.Background(), l.Host)
		sandbox.Need(t, err)
		if tr.release < 109 {
			t.Skip("before 14 the server does not tell when it was reset")
		}
		before, reset := l.Must("statements"), time.Now().Truncate(time.Millisecond)
		l.Exec("SELECT pg_stat_statements_reset()", "SELECT 1", "SELECT 1", "SELECT 1")
		after := l.Must("statements")
		if len(before.Statements) == 0 || len(after.Statements) == 0 {
			t.Fatalf("%+v\n%+v", before, after)
		}
		for _, s := range before.Statements {
			if s.Since.IsZero() || s.Since.After(reset) {
				t.Errorf("before: %+v", s)
			}
		}
		for _, s := range after.Statements {
			if s.Since.Before(reset) {
				t.Errorf("after it was reset at %s: %+v", reset, s)
			}
		}
	})
}
