package sampler

import (
	"fmt"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestASessionThatIsKilled: another one is opened then, and who watches for months goes on.
func TestASessionThatIsKilled(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{})
	l.Must("status")
	var ours int
	sandbox.Need(t, l.DB.QueryRowContext(t.Context(), "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND = 'Sleep'").Scan(&ours))
	l.Exec(fmt.Sprintf("KILL %d", ours))
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
