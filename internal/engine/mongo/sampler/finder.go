package sampler

import (
	"context"

	"plumb/internal/engine/mongo"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

const (
	kind       = "mongo"
	grantsHint = "grant the role clusterMonitor; see `plumb watch --grants`"
)

// Finder makes the sources of the servers of this host that Plumb can query.
type Finder struct{ probe mongo.Probe }

// New makes a finder. remote is host:port of the server of a connection string,
// "" for none.
func New(remote string) Finder { return Finder{mongo.Probe{Remote: remote}} }

// Sources implements sample.Finder. The sources of a server share one session.
func (f Finder) Sources(s *stack.Stack) []sample.Source {
	var all []sample.Source
	for _, t := range sample.LoggedIn(s, kind) {
		v := &server{sample.Asked{Ref: t.Ref, Denied: grantsHint,
			Find: func(ctx context.Context, h host.Reader) (host.Target, error) {
				return f.probe.Reach(ctx, h, s, t.Ref)
			}}}
		all = append(all, v.Source("sessions", sample.Second, v.sessions),
			v.Source("status", sample.Ten, v.document(statusQuery, status)))
	}
	return all
}

// server is one server of a stack.
type server struct{ sample.Asked }

// document makes a taker of a question whose answer is one document.
func (v *server) document(query string, read func(text []byte, set func(name string, value float64)) error) sample.Taker {
	return func(ctx context.Context, h host.Reader, b *series.Batch) error {
		text, err := v.answer(ctx, h, query)
		if err != nil {
			return err
		}
		return read(text, func(name string, value float64) { b.Set(v.Ref, name, value) })
	}
}

// answer asks a question, and gives the document that answers it; none is no JSON.
func (v *server) answer(ctx context.Context, h host.Reader, query string) ([]byte, error) {
	rows, err := v.Ask(ctx, h, query)
	if err != nil || len(rows.Values) != 1 {
		return nil, err
	}
	return []byte(host.Text(rows.Values[0], 0)), nil
}
