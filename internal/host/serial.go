package host

import (
	"context"
	"sync"
)

// serial makes sure that a session is used by one call at a time, as Session
// promises drivers. A query that nobody waits for any more still uses the connection, and drivers
// panic if it is closed meanwhile, so Close waits for the query, which ends soon as
// its own deadline has passed.
type serial struct {
	mu      sync.Mutex
	session Session
}

func (s *serial) Query(ctx context.Context, query string, limits QueryLimits) (Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Query(ctx, query, limits)
}

func (s *serial) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Close()
}

// Ended implements [Ender]. A session that cannot tell has not ended.
func (s *serial) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.session.(Ender)
	return ok && e.Ended()
}
