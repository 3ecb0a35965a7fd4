package sampler

import (
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/test/sandbox"
)

// TestASessionThatIsKilled: another one is opened then, and who watches for months goes on.
func TestASessionThatIsKilled(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{})
	l.Must("status")
	target, err := l.of.Target(t.Context(), l.Host)
	sandbox.Need(t, err)
	ours, err := host.One(l.Host.Query(t.Context(), target, "SELECT CONNECTION_ID()"))
	sandbox.Need(t, err)
	l.Exec("KILL " + *ours[0])
	failed := 0
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(l.Pause) {
		_, err := l.Take("status")
		switch {
		case err != nil:
			failed++
		case failed > 0:
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after 20 s and %d errors: %v", failed, err)
		}
	}
}
