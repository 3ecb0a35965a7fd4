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
	l.Recovers("status", 20*time.Second)
}
