package sampler

import (
	"testing"
	"time"

	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/test/sandbox"
)

// TestIdleSessionsAreEnded: a server that ends idle sessions costs no answer to a question that is asked once in a while.
func TestIdleSessionsAreEnded(t *testing.T) {
	l := start(t, sandbox.PostgresOptions{Settings: settings})
	if l.major() < 14 {
		t.Skip("PostgreSQL ends idle sessions since 14")
	}
	l.Exec("ALTER SYSTEM SET idle_session_timeout = '1s'", "SELECT pg_reload_conf()")
	target, err := l.of.Target(t.Context(), l.Host)
	sandbox.Need(t, err)
	for range 3 {
		if _, err := l.of.Indexes(t.Context(), l.Host, "postgres"); err != nil {
			t.Fatal(err)
		}
		// Another test that looks at the whole machine has sessions here, too: only the one that was asked counts.
		ours, err := host.One(l.Host.Query(t.Context(), postgres.In(target, "postgres"), "SELECT pg_backend_pid()::text"))
		sandbox.Need(t, err)
		time.Sleep(2500 * time.Millisecond) // for Plumb to call it idle, too
		left := -1
		sandbox.Need(t, l.DB.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE pid = "+*ours[0]).Scan(&left))
		if left != 0 {
			t.Fatalf("session %s was not ended", *ours[0])
		}
	}
}
