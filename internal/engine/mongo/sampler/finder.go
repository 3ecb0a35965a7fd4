package sampler

import (
	"context"
	"sync"
	"time"

	"plumb/internal/engine/mongo"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

const kind = "mongo"

// Finder makes the sources of the servers of this host that Plumb can query.
type Finder struct{ probe mongo.Probe }

// New makes a finder. remote is host:port of the server of a connection string,
// "" for none.
func New(remote string) Finder { return Finder{mongo.Probe{Remote: remote}} }

// Sources implements sample.Finder. The sources of a server share one session.
func (f Finder) Sources(s *stack.Stack) []sample.Source {
	var all []sample.Source
	for _, t := range s.OfKind(kind) {
		if in, ok := t.Bool("logged_in"); !ok || !in {
			continue
		}
		v := &server{ref: t.Ref, stack: s, probe: f.probe}
		all = append(all,
			source{v, "sessions", sample.Second, sessionsQuery, sessions},
			source{v, "status", sample.Ten, statusQuery, status})
	}
	return all
}

// server is one server of a stack.
type server struct {
	ref   stack.Ref
	stack *stack.Stack
	probe mongo.Probe

	mu     sync.Mutex
	target *host.Target
}

// source is one part of what is read of a server.
type source struct {
	of    *server
	part  string
	every time.Duration
	query string
	read  func(text []byte, set func(name string, value float64)) error
}

// Name implements sample.Source.
func (s source) Name() string { return s.of.ref.String() + " " + s.part }

// Every implements sample.Source.
func (s source) Every() time.Duration { return s.every }

// Take implements sample.Source.
func (s source) Take(ctx context.Context, h host.Reader) (series.Batch, error) {
	var b series.Batch
	t, err := s.of.reach(ctx, h)
	if err != nil {
		return b, err
	}
	rows, err := h.Query(ctx, t, s.query)
	if err != nil {
		return b, refused(err)
	}
	text := ""
	if len(rows.Values) == 1 {
		text = host.Text(rows.Values[0], 0)
	}
	err = s.read([]byte(text), func(name string, value float64) { b.Set(s.of.ref, name, value) })
	return b, err
}

// reach gives the way to log in. It is worked out once: a server that starts
// again is another process, and gets other sources.
func (v *server) reach(ctx context.Context, h host.Reader) (host.Target, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.target != nil {
		return *v.target, nil
	}
	_, t, err := v.probe.Find(ctx, h, v.stack, v.ref)
	if err != nil {
		return t, err
	}
	v.target = &t
	return t, nil
}
