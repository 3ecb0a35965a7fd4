package store

import (
	"context"
	"sync"
)

// Each does something with each of some, as Together does.
func Each[T any](ctx context.Context, workers int, all []T, do func(ctx context.Context, i int, one T) error) error {
	feed := func(give func(int) error) error {
		for i := range all {
			if err := give(i); err != nil {
				return err
			}
		}
		return nil
	}
	return Together(ctx, workers, feed, func(ctx context.Context, i int) error { return do(ctx, i, all[i]) })
}

// Together does something with all that is fed, as many at a time as there are workers, until one fails.
func Together[T any](ctx context.Context, workers int, feed func(give func(T) error) error, do func(context.Context, T) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	next := make(chan T)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for one := range next {
				if err := do(ctx, one); err != nil {
					end(err)
				}
			}
		})
	}
	err := feed(func(one T) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case next <- one:
			return nil
		}
	})
	close(next)
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
