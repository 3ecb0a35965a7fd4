package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Questions asks servers, while they are watched, what a person wants to know. It
// is a sink in order to know which servers there are.
type Questions struct {
	host     host.Reader
	planners func(powerful bool) map[string]sample.Planner
	mu       sync.Mutex
	picture  *stack.Stack
	one      chan struct{} // has room for one, so that there is one question at a time
}

// Asks is a sink that wants to ask questions. It gets them before anything is sampled.
type Asks interface{ Answers(q *Questions) }

func newQuestions(h host.Reader, planners func(powerful bool) map[string]sample.Planner) *Questions {
	return &Questions{host: h, planners: planners, one: make(chan struct{}, 1)}
}

// Picture implements [watch.Sink].
func (q *Questions) Picture(_ time.Time, s *stack.Stack) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.picture = s
}

// Batch implements [watch.Sink].
func (*Questions) Batch(series.Batch) {}

// How long to wait for an answer.
const (
	planTime  = 8 * time.Second
	indexTime = 20 * time.Second
)

// Plan asks a server for the plan of a statement. powerful allows that even if our user
// can do more than read; a person must have agreed to it.
func (q *Questions) Plan(ctx context.Context, of series.Statement, powerful bool) series.Plan {
	ctx, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	if of.Rest || of.Own() {
		return sample.Unplanned(of, errors.New("it is no single statement of a client's"))
	}
	p, s, leave, err := q.ask(ctx, of.Of, powerful)
	if err != nil {
		return sample.Unplanned(of, err)
	}
	defer leave()
	return sample.Plan(ctx, p, q.host, s, of)
}

// Indexes asks a server which indexes it could do without.
func (q *Questions) Indexes(ctx context.Context, of stack.Ref) ([]series.Index, error) {
	ctx, cancel := context.WithTimeout(ctx, indexTime)
	defer cancel()
	p, s, leave, err := q.ask(ctx, of, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	all, err := p.Indexes(ctx, q.host, s, of)
	return needed(all), err
}

// needed removes, from the indexes that nothing reads, those that would take over the work of
// another one in the list: whoever dropped both would have none left.
func needed(all []series.Index) []series.Index {
	return slices.DeleteFunc(all, func(x series.Index) bool {
		return x.Unread && slices.ContainsFunc(all, func(y series.Index) bool {
			return y.DoneBy == x.Name && y.Of == x.Of && y.Database == x.Database && y.Table == x.Table
		})
	})
}

// ask waits for its turn, and finds the planner for a server.
func (q *Questions) ask(ctx context.Context, of stack.Ref, powerful bool) (sample.Planner, *stack.Stack, func(), error) {
	q.mu.Lock()
	s := q.picture
	q.mu.Unlock()
	p, known := q.planners(powerful)[of.Kind]
	switch {
	case s == nil:
		return nil, nil, nil, fmt.Errorf("nothing was read of %s yet", of)
	case !known:
		return nil, nil, nil, fmt.Errorf("servers such as %s are not asked for plans and indexes", of)
	}
	select {
	case q.one <- struct{}{}:
		return p, s, func() { <-q.one }, nil
	case <-ctx.Done():
		return nil, nil, nil, errors.New("another question to a server was not answered in time")
	}
}
