package sampler

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/test/sandbox"
)

// TestASessionThatIsKilled: the server says nothing to a session when its process is killed, and recovers. Another one is opened then,
// and who watches for months goes on.
func TestASessionThatIsKilled(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Must("status")
		target, err := l.of.Target(t.Context(), l.Host) // another Plumb on the machine may ask the server, too
		sandbox.Need(t, err)
		row, err := host.One(l.Host.Query(t.Context(), target, "SELECT pg_backend_pid()"))
		sandbox.Need(t, err)
		ours, err := strconv.Atoi(*row[0])
		sandbox.Need(t, err)
		sandbox.Need(t, syscall.Kill(ours, syscall.SIGKILL))
		l.Recovers("status", 30*time.Second)
	})
}
