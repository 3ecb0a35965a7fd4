package sampler

import (
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestASessionThatIsKilled: the server says nothing to a session when its process is killed, and recovers. Another one is opened then,
// and who watches for months goes on.
func TestASessionThatIsKilled(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Must("status")
		var ours int
		sandbox.Need(t, l.DB.QueryRowContext(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'plumb'").Scan(&ours))
		sandbox.Need(t, syscall.Kill(ours, syscall.SIGKILL))
		failed := 0
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(l.Pause) {
			_, err := l.Take("status")
			switch {
			case err != nil:
				failed++
			case failed > 0:
				return
			}
			if time.Now().After(end) {
				t.Fatalf("half a minute and %d errors later: %v", failed, err)
			}
		}
	})
}
