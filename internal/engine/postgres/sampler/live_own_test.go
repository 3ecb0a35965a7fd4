package sampler

import (
	"strings"
	"testing"

	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestOwnStatements: all that a server counts of our sessions, from the first statement of
// each, is known as ours.
func TestOwnStatements(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Exec("CREATE EXTENSION pg_stat_statements", "CREATE ROLE watcher LOGIN", "GRANT pg_monitor TO watcher")
		l.as("watcher")
		dialers := map[string]host.Dialer{kind: postgres.Dialer{}}
		h := host.NewLive(host.LiveOptions{Dialers: dialers, DSN: "postgres://watcher@/postgres?host=" + l.server.Socket})
		t.Cleanup(func() { h.Close() })
		own := sample.NewOwn(h, dialers)
		var last series.Batch
		for _, part := range []string{"status", "sessions", "io", "statements", "texts", "texts"} {
			b, err := l.source(part).Take(t.Context(), own)
			sandbox.Need(t, err)
			last = b
		}
		l.onlyOwn(own, last)
	})
}

// onlyOwn looks at the statements of the role that watches: all are ours.
func (l *live) onlyOwn(own *sample.Own, b series.Batch) {
	l.T.Helper()
	var role string
	sandbox.Need(l.T, l.DB.QueryRow("SELECT oid::text FROM pg_roles WHERE rolname = 'watcher'").Scan(&role))
	opened := false
	for _, s := range b.Statements {
		if s.Text == "" || !strings.Contains(s.ID, "/"+role+"/") {
			continue
		}
		opened = opened || strings.Contains(s.Text, "set_config")
		if !own.Has(s.Text) {
			l.T.Errorf("taken for a client's: %s", s.Text)
		}
	}
	if !opened {
		l.T.Errorf("what sessions are opened with was not counted, so this proves nothing: %+v", b.Statements)
	}
}
