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

// standing tells when nothing has moved for a while: a producer that waits for a lock, a file server that hangs. What a store
// refuses is told by who tries it again.
type standing struct {
	mu    sync.Mutex
	at    backup.Progress
	since time.Time     // nothing has moved; zero when nothing is to move yet
	next  time.Duration // of that until it is told
}

// stands is how long nothing may move before that is told; then it is told each time that it has stood twice as long. One
// object on a slow line may take some minutes.
const stands = 3 * time.Minute

// moved notes how far it is.
func (s *standing) moved(p backup.Progress, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.since, s.next = p, now, stands
}

// due gives what is to be told now; "" for nothing. What comes after the last byte of what is known is told by others.
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

// attend has it told on standard error, until end is called.
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
