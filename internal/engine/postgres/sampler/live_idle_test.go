package sampler

import (
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestIdleSessionsAreEnded: a server that ends idle sessions costs no answer to a question that is asked once in a while.
func TestIdleSessionsAreEnded(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings})
	if l.major() < 14 {
		t.Skip("PostgreSQL ends idle sessions since 14")
	}
	l.Exec("ALTER SYSTEM SET idle_session_timeout = '1s'", "SELECT pg_reload_conf()")
	for range 3 {
		if _, err := l.of.Indexes(t.Context(), l.Host, "postgres"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond) // for Plumb to call it idle, too
		ours := -1
		sandbox.Need(t, l.DB.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plumb'").Scan(&ours))
		if ours != 0 {
			t.Fatalf("%d sessions were not ended", ours)
		}
	}
}
