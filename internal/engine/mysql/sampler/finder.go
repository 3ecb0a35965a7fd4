package sampler

import (
	"context"
	"sync/atomic"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/stack"
)

const (
	kind       = "mysql"
	grantsHint = "see `plumb watch --grants` for a user that may read this"
)

// Finder makes the sources of the servers that Plumb can query.
type Finder struct{ probe *mysql.Probe }

// New makes a finder. given is the server of a data source name, or nil.
func New(given *host.Target) Finder { return Finder{mysql.NewProbe(nil, given)} }

// Sources implements sample.Finder. The sources of a server share one session.
func (f Finder) Sources(s *stack.Stack) []sample.Source {
	var all []sample.Source
	for _, t := range sample.LoggedIn(s, kind) {
		v := f.Server(s, t.Ref)
		all = append(all,
			v.Source("status", sample.Second, v.status),
			v.Source("sessions", sample.Second, v.sessions),
			v.Source("files", sample.Ten, v.files),
			v.Source("history", sample.Ten, v.history),
			v.Source("statements", sample.Ten, v.statements))
	}
	return all
}

// Server is one server of a stack.
type Server struct {
	sample.Asked
	learned sample.Learned[traits]
	lost    atomic.Bool // the performance schema had no room for some sessions

	historyUntold atomic.Bool // the status was read, and lacks the length of the history list
}

// Server gives a server of a stack, to ask it for texts and indexes.
func (f Finder) Server(s *stack.Stack, ref stack.Ref) *Server {
	return &Server{Asked: sample.Asked{Ref: ref, Denied: grantsHint, Find: func(ctx context.Context, h host.Reader) (host.Target, error) {
		t, _, ok := f.probe.Reach(ctx, h, s, ref)
		if !ok {
			return t, sample.NoLogin(ref)
		}
		return t, nil
	}}}
}
