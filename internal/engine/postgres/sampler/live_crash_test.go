package sampler

import (
	"context"
	"syscall"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestIndexesAfterACrash: a server that has recovered has forgotten who read what before, and was not started anew.
func TestIndexesAfterACrash(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		l.Exec("CREATE TABLE t (id int PRIMARY KEY, v text)", "CREATE INDEX one ON t (v)")
		var victim int
		c, err := l.DB.Conn(t.Context())
		sandbox.Need(t, err)
		sandbox.Need(t, c.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&victim))
		time.Sleep(1100 * time.Millisecond) // since when is told in whole seconds
		crash := time.Now().Truncate(time.Second)
		sandbox.Need(t, syscall.Kill(victim, syscall.SIGKILL))
		c.Close()
		var all []series.Index
		// Until it lets in who asks again. It may take a moment to notice that a session has died, and answers as before until then.
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(l.Pause) {
			if all, err = l.of.Indexes(context.Background(), l.Host, "postgres"); err == nil && len(all) == 1 && !all[0].Since.Before(crash) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("it crashed at %s: %+v, %v", crash, all, err)
			}
		}
		if i := all[0]; i.Name != "one" || !i.Unread {
			t.Errorf("%+v", i)
		}
	})
}
