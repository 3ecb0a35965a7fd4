package sampler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

const (
	kind       = "postgres"
	grantsHint = "see `plumb watch --grants` for a user that may read this"
)

// Finder makes the sources of the servers that Plumb can query.
type Finder struct{ probe *postgres.Probe }

// New makes a finder. given is the server of a data source name, or nil.
func New(given *host.Target) Finder { return Finder{postgres.NewProbe(nil, given)} }

// Sources implements sample.Finder. The sources of a server share one session.
func (f Finder) Sources(s *stack.Stack) []sample.Source {
	var all []sample.Source
	for _, t := range s.OfKind(kind) {
		if in, ok := t.Bool("logged_in"); !ok || !in {
			continue
		}
		v := f.Server(s, t.Ref)
		all = append(all,
			source{v, "status", sample.Second, (*Server).status},
			source{v, "sessions", sample.Second, (*Server).sessions},
			source{v, "io", sample.Ten, (*Server).io},
			source{v, "statements", sample.Ten, (*Server).statements}, source{v, "texts", sample.Minute, (*Server).texts})
	}
	return all
}

// Server is one server of a stack.
type Server struct {
	ref   stack.Ref
	stack *stack.Stack
	probe *postgres.Probe

	mu      sync.Mutex
	target  *host.Target
	traits  traits
	learned time.Time
}

// Server gives a server of a stack, to ask it for texts and indexes.
func (f Finder) Server(s *stack.Stack, ref stack.Ref) *Server {
	return &Server{ref: ref, stack: s, probe: f.probe}
}

// source is one part of what is read of a server.
type source struct {
	of    *Server
	part  string
	every time.Duration
	take  func(v *Server, ctx context.Context, h host.Reader, b *series.Batch) error
}

// Name implements sample.Source.
func (s source) Name() string { return s.of.ref.String() + " " + s.part }

// Every implements sample.Source.
func (s source) Every() time.Duration { return s.every }

// Take implements sample.Source.
func (s source) Take(ctx context.Context, h host.Reader) (series.Batch, error) {
	var b series.Batch
	err := s.take(s.of, ctx, h, &b)
	return b, err
}

// reach gives the way to log in. It is worked out once: a server that starts
// again is another process, and gets other sources.
func (v *Server) reach(ctx context.Context, h host.Reader) (host.Target, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.target != nil {
		return *v.target, nil
	}
	t, ok := v.probe.Reach(ctx, h, v.stack, v.ref)
	if !ok {
		return t, hint.With(fmt.Errorf("there is no way to log in to %s", v.ref), "give one with --dsn")
	}
	v.target = &t
	return t, nil
}

// ask asks one question.
func (v *Server) ask(ctx context.Context, h host.Reader, query string) (host.Rows, error) {
	t, err := v.reach(ctx, h)
	if err != nil {
		return host.Rows{}, err
	}
	rows, err := h.Query(ctx, t, query)
	if err != nil {
		return rows, refused(err)
	}
	return rows, nil
}
