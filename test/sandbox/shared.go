package sandbox

import (
	"sync"
	"testing"
)

// Shared are servers in one box that the tests of a package have in common.
// Each is started when the first test asks for it.
type Shared struct {
	Start func(b *Box, engine string) (*Server, error)

	mu  sync.Mutex
	box *Box
	up  map[string]*Server
	why map[string]error // they did not start
}

// Server gives the server of an engine.
func (s *Shared) Server(t testing.TB, engine string) *Server {
	t.Helper()
	NeedLong(t, "starts real servers: run without -short")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up[engine] == nil && s.why[engine] == nil {
		if s.up == nil {
			s.up, s.why = map[string]*Server{}, map[string]error{}
		}
		s.up[engine], s.why[engine] = s.start(engine)
	}
	Need(t, s.why[engine])
	return s.up[engine]
}

func (s *Shared) start(engine string) (_ *Server, err error) {
	if s.box == nil {
		if s.box, err = New(""); err != nil {
			return nil, err
		}
	}
	return s.Start(s.box, engine)
}

// Close stops and removes what was started.
func (s *Shared) Close() error {
	if s.box == nil {
		return nil
	}
	return s.box.Close()
}
