package check

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// TestPostgresValue: PostgreSQL reads a backslash in a quoted value as the beginning of an escape.
func TestPostgresValue(t *testing.T) {
	for text, want := range map[string]string{`%m \d 'x'`: `'%m \\d ''x'''`, "replica": "'replica'"} {
		if got := postgresValue(catalog.Text, stack.Text(text)); got != want {
			t.Errorf("%s: %s, and not %s", text, got, want)
		}
	}
}
