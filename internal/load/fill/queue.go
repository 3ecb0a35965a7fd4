package fill

import (
	"context"
	"sync"
)

// job is something one worker does with its session.
type job func(ctx context.Context, s *session) error

// queue hands jobs to workers. Jobs may add jobs.
type queue struct {
	mu    sync.Mutex
	more  *sync.Cond
	ready []job
	busy  int
	ended bool
}

func newQueue(jobs []job) *queue {
	q := &queue{ready: jobs}
	q.more = sync.NewCond(&q.mu)
	return q
}

// first adds a job before all others.
func (q *queue) first(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready = append([]job{j}, q.ready...)
	q.more.Signal()
}

// take waits for a job; nil when there will be none.
func (q *queue) take() job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 && q.busy > 0 && !q.ended {
		q.more.Wait()
	}
	if len(q.ready) == 0 || q.ended {
		return nil
	}
	j := q.ready[0]
	q.ready = q.ready[1:]
	q.busy++
	return j
}

// done tells that a job has ended.
func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	if q.busy == 0 && len(q.ready) == 0 {
		q.more.Broadcast()
	}
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.more.Broadcast()
}

// work does all jobs with so many workers. The first error ends it.
func (l *loader) work(ctx context.Context, q *queue) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, q.end)()
	var group sync.WaitGroup
	for range l.o.Workers {
		group.Go(func() {
			if err := l.worker(ctx, q); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (l *loader) worker(ctx context.Context, q *queue) error {
	var s *session
	for j := q.take(); j != nil; j = q.take() {
		if s == nil {
			var err error
			if s, err = l.session(ctx); err != nil {
				return err
			}
			defer s.close()
		}
		if err := j(ctx, s); err != nil {
			return err
		}
		q.done()
	}
	return nil
}
