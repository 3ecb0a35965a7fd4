package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// maxStuck is how many operations may hang at the same time. Each occupies a thread.
const maxStuck = 64

// stuckCount counts operations that we stopped waiting for and that have not returned.
type stuckCount struct{ n atomic.Int32 }

var errManyStuck = errors.New("too many operations hang on this machine")

// within runs f, but waits for it no longer than limit: a read from a dead NFS server or a suspended pool cannot be interrupted, only
// left alone. As f can still run when within returns, it must not touch anything its caller still uses.
func within[T any](ctx context.Context, stuck *stuckCount, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if stuck.n.Load() >= maxStuck {
		return none, kindError{text: errManyStuck.Error(), kind: context.DeadlineExceeded}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	type answer struct {
		value T
		err   error
	}
	var left atomic.Bool
	done := make(chan answer, 1)
	go func() {
		value, err := f(ctx)
		done <- answer{value, err}
		if left.Swap(true) {
			stuck.n.Add(-1)
		}
	}()
	defer cancel()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
	}
	stuck.n.Add(1)
	if left.Swap(true) { // it ended just now
		stuck.n.Add(-1)
	}
	return none, ctx.Err()
}
