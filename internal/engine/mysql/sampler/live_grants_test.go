package sampler

import (
	"context"
	"strings"
	"testing"

	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestGrants: with the rights of the text all that it says can be read, and
// without any of them what the text says is lost.
func TestGrants(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{Settings: "performance_schema = ON"})
	l.tables()
	l.Exec("CREATE USER plumb@localhost")
	var rights []string
	for line := range strings.Lines(Grants(product.MariaDB, "10.11.14")) {
		if grant, ok := strings.CutPrefix(line, "GRANT "); ok {
			rights = append(rights, strings.Split(grant, " TO ")[0])
		}
	}
	without := map[string][]string{"": nil, "PROCESS": {"sessions"}, "SELECT": {"statements", "indexes"}, "SHOW": {"indexes"}}
	for lost, parts := range without {
		for _, r := range rights {
			l.Exec("GRANT " + r + " TO plumb@localhost")
			if lost != "" && strings.HasPrefix(r, lost) {
				l.Exec("REVOKE " + r + " FROM plumb@localhost")
			}
		}
		l.as("plumb")
		got := strings.Join(l.lost(), " ")
		if got != strings.Join(parts, " ") {
			t.Errorf("without %q is lost: %s; want %v", lost, got, parts)
		}
	}
}

// tables makes tables with indexes that can be done without.
func (l *live) tables() {
	l.Exec("CREATE DATABASE shop2", "CREATE TABLE shop2.p (id INT PRIMARY KEY)",
		"CREATE TABLE shop2.t (id INT PRIMARY KEY, v VARCHAR(100), p INT, KEY one (v), KEY two (v, p), KEY part (v(5)), UNIQUE KEY u (p, v), KEY f (p), FOREIGN KEY (p) REFERENCES shop2.p (id))",
		"INSERT INTO shop2.t VALUES (1, 'a', NULL)")
}

// lost names what cannot be read.
func (l *live) lost() (parts []string) {
	for _, part := range []string{"status", "sessions", "statements"} {
		if b, err := l.Take(part); err != nil || len(b.Readings)+len(b.Statements) == 0 {
			parts = append(parts, part)
		}
	}
	if all, err := l.of.Indexes(context.Background(), l.Host); err != nil || len(all) == 0 {
		parts = append(parts, "indexes")
	}
	return parts
}

// TestIndexes on a table on which one index begins as another does.
func TestIndexes(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{Settings: "performance_schema = ON"})
	l.tables()
	l.Exec("SELECT * FROM shop2.t FORCE INDEX (two) WHERE v = 'a'")
	all, err := l.of.Indexes(context.Background(), l.Host)
	sandbox.Need(t, err)
	done, unread := map[string]string{}, map[string]series.Index{}
	for _, i := range all {
		if i.DoneBy != "" {
			done[i.Name] = i.DoneBy
		}
		if i.Unread {
			unread[i.Name] = i
		}
	}
	if len(done) != 2 || done["one"] != "two" || done["f"] != "u" {
		t.Errorf("redundant: %v", done)
	}
	if len(unread) != 2 || unread["one"].Since.IsZero() || !unread["part"].Unread {
		t.Errorf("unread: %v", unread)
	}
}
