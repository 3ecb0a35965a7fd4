package load

import (
	"context"
	"errors"
	"io"
	"time"
)

// Nothing is a workload that does nothing: what is left is the generator
// itself, the ceiling of all others.
func Nothing() Workload { return nothing{} }

type nothing struct{}

func (nothing) Name() string                            { return "nothing" }
func (nothing) Ops() []string                           { return []string{"nothing"} }
func (nothing) Open(context.Context, int) (Work, error) { return nothing{}, nil }
func (nothing) Do(int64, *Tally) error                  { return nil }
func (nothing) Close() error                            { return nil }

// Ask is a workload of one prepared statement without parameters, over and
// over: what a round trip to a server costs.
func Ask(s Server, query string) Workload { return ask{s, query} }

type ask struct {
	server Server
	query  string
}

func (a ask) Name() string  { return a.query }
func (a ask) Ops() []string { return []string{"query"} }

func (a ask) Open(ctx context.Context, _ int) (Work, error) {
	s, err := a.server.Open(ctx)
	if err != nil {
		return nil, err
	}
	statement, err := s.Prepare(a.query)
	if err != nil {
		_ = s.Close() // the error of Prepare says more
		return nil, err
	}
	return &asking{s, statement}, nil
}

type asking struct {
	session   Session
	statement int
}

func (a *asking) Do(_ int64, t *Tally) error {
	t.Reads = 1
	return a.session.Run(a.statement, nil)
}

func (a *asking) Close() error { return a.session.Close() }

// Target is something to measure the generator against.
type Target struct {
	Name string
	Open func() (Workload, io.Closer, error)
}

// Ceiling is what the generator reaches against one target.
type Ceiling struct {
	Target  string
	Threads int
	Result  *Result // nil when it could not be measured
	Err     string  // then why
}

// Measure measures one target. What fails is said in the ceiling.
func (t Target) Measure(ctx context.Context, threads int, each time.Duration) Ceiling {
	out := Ceiling{Target: t.Name, Threads: threads}
	w, closer, err := t.Open()
	if err == nil {
		out.Result, err = Run(ctx, w, Options{Threads: threads, Time: each, Warmup: each / 4, Seed: 1})
	}
	if closer != nil {
		err = errors.Join(err, closer.Close())
	}
	if err == nil && out.Result.Ended != nil {
		err = out.Result.Ended
	}
	if err != nil {
		out.Result, out.Err = nil, err.Error()
	}
	return out
}
