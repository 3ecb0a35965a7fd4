package backup

import (
	"context"
	"fmt"
	"sync"
	"time"

	"plumb/internal/backup"
	"plumb/internal/cli/shell"
	view "plumb/internal/view/backup"
)

// standing warns when nothing has moved for a while, as when a producer waits for a lock or a file server hangs. Errors of stores are
// reported by what tries again.
type standing struct {
	mu    sync.Mutex
	at    backup.Progress
	since time.Time     // nothing has moved; zero when nothing is to move yet
	next  time.Duration // of that until it is told
}

// stands is how long nothing may move before the first warning. Each further one comes after twice the time. One object may take
// some minutes on a slow line.
const stands = 3 * time.Minute

// moved notes how far the run is.
func (s *standing) moved(p backup.Progress, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.since, s.next = p, now, stands
}

// due returns the warning that is due now; "" for none. Once everything that was known to come has been sent there are no more warnings.
func (s *standing) due(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	stood := now.Sub(s.since)
	if s.since.IsZero() || stood < s.next || s.at.Total > 0 && s.at.Bytes >= s.at.Total {
		return ""
	}
	s.next *= 2
	return view.Standing(s.at, stood)
}

// attend prints warnings on standard error until end is called.
func (v *verbs) attend(s *standing) (end func()) {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		for tick := time.NewTicker(10 * time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case now := <-tick.C:
				if text := s.due(now); text != "" {
					fmt.Fprintf(v.Err, "waiting: %s\n", shell.OneLine(text))
				}
			}
		}
	}()
	return end
}
