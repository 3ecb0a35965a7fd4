package prune

import (
	"context"
	"errors"
	"sync"

	"plumb/internal/backup/store"
)

// workers is how many objects are removed at once.
const workers = 8

// together does something with all that is fed, some at a time, until one fails.
func together[T any](ctx context.Context, feed func(give func(T) error) error, do func(context.Context, T) error) error {
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

// each removes the objects below a prefix that are to go. What the store refuses stays, and the rest goes all the same.
func (w work) each(ctx context.Context, prefix string, goes func(store.Info) bool) error {
	var mu sync.Mutex
	var refused error
	feed := func(give func(store.Info) error) error {
		return w.Store.List(ctx, prefix, func(i store.Info) error {
			if err := w.lease.renew(ctx); err != nil || !goes(i) {
				return err
			}
			return give(i)
		})
	}
	err := together(ctx, feed, func(ctx context.Context, i store.Info) error {
		err := w.Store.Delete(ctx, i.Name)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			w.removed(i)
		case errors.Is(err, store.ErrDenied):
			refused = err
		default:
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return refused
}

// removed counts an object that is gone. One at a time calls it.
func (w work) removed(i store.Info) {
	w.done.Objects, w.done.Bytes = w.done.Objects+1, w.done.Bytes+i.Size
	if w.Doing != nil {
		w.Doing(w.done.Objects, w.done.Bytes)
	}
}
