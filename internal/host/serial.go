package host

import (
	"context"
	"sync"
)

// serial holds a driver's session to what Session promises it: one call at a
// time. A query that was left behind still uses the connection, and drivers
// panic when it is closed under them, so closing waits for the query. The
// query's own deadline has passed by then, and ends it.
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
