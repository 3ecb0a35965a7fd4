package sampler

import (
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/test/sandbox"
)

// TestIdleSessionsAreEnded: a server that ends idle sessions costs no answer to a question that is asked once in a while.
func TestIdleSessionsAreEnded(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{Settings: "wait_timeout=1\n"})
	target, err := l.of.Target(t.Context(), l.Host)
	sandbox.Need(t, err)
	for range 3 {
		ours, err := host.One(l.Host.Query(t.Context(), target, "SELECT CONNECTION_ID()"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond) // for Plumb to call it idle, too
		left := -1
		sandbox.Need(t, l.DB.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = "+*ours[0]).Scan(&left))
		if left != 0 {
			t.Fatalf("session %s was not ended", *ours[0])
		}
	}
}
