package sampler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/samplertest"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

func containsLiteral(text string) bool { return strings.Contains(text, "secret-literal") }

// digests looks for a statement, its counts and its text.
func (l *live) digests(schema bool) {
	if !schema {
		if _, err := l.Take("statements"); err == nil || !strings.Contains(hint.Of(err), "performance_schema = ON") {
			l.T.Errorf("statements without the performance schema: %v (%s)", err, hint.Of(err))
		}
		b := l.Must("files")
		if len(b.Readings) != 0 || len(b.Gaps) == 0 || b.Gaps[0].Hint == "" {
			l.T.Errorf("files without the performance schema: %+v", b)
		}
		return
	}
	for range 5 {
		l.Exec("SELECT v FROM shop.t WHERE v = 'secret-literal'")
	}
	l.Exec("CREATE USER nobody@localhost IDENTIFIED BY 'secret-literal'", "DROP USER nobody@localhost")
	b := l.Must("statements")
	var ids []string
	for _, s := range b.Statements {
		ids = append(ids, s.ID)
	}
	texts := map[string]string{}
	for part := range chunks(ids, 60) {
		some, err := l.of.Texts(context.Background(), l.Host, part)
		sandbox.Need(l.T, err)
		for id, text := range some {
			texts[id] = text
		}
	}
	found := false
	for _, s := range b.Statements {
		if strings.HasPrefix(texts[s.ID], "SELECT `v` FROM") {
			found = s.Calls == 5 && s.Seconds > 0 && s.Seconds < 60 && time.Since(s.Since).Abs() < time.Hour
		}
	}
	if !found {
		l.T.Errorf("no statement with 5 calls: %v", texts)
	}
	if all := fmt.Sprint(texts, b); containsLiteral(all) {
		l.T.Errorf("a literal: %s", all)
	}
	files := l.Must("files")
	if _, ok := samplertest.Value(files, "data_write_us"); !ok {
		l.T.Errorf("files: %+v", files)
	}
}

func chunks(all []string, size int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for len(all) > 0 {
			n := min(size, len(all))
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// TestTroubleIsAGap: whatever happens to a server or to what we may read, a
// source gives an error that says so, and no numbers.
func TestTroubleIsAGap(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{Settings: "performance_schema = ON"})
	l.Exec("CREATE USER plumb@localhost", "GRANT PROCESS ON *.* TO plumb@localhost", "GRANT SELECT ON performance_schema.* TO plumb@localhost")
	l.as("plumb")
	for _, part := range []string{"status", "sessions", "files", "history", "statements"} {
		l.Must(part)
	}
	l.Exec("REVOKE SELECT ON performance_schema.* FROM plumb@localhost")
	if b, err := l.Take("statements"); err == nil || len(b.Statements) > 0 || hint.Of(err) != grantsHint {
		t.Errorf("statements without SELECT: %v (%s) %v", err, hint.Of(err), b)
	}
	l.Exec("REVOKE PROCESS ON *.* FROM plumb@localhost")
	if b, err := l.Take("sessions"); err == nil || len(b.Readings) > 0 {
		t.Errorf("sessions without PROCESS: %v %v", err, b)
	}
	l.Exec("ALTER USER plumb@localhost IDENTIFIED BY 'other'")
	l.as("plumb")
	if b, err := l.Take("status"); err == nil || len(b.Readings) > 0 {
		t.Errorf("with a wrong password: %v %v", err, b)
	}
	l.as("root")
	l.Must("status")
	sandbox.Need(t, l.server.Kill())
	l.Dead("status")
}

var _ = series.Classes
