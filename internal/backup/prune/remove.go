package prune

import (
	"context"
	"errors"
	"sync"

	"plumb/internal/backup/store"
)

// workers is how many objects are removed at once.
const workers = 8

// each removes the objects below a prefix that are to go. What the store refuses stays, and the rest goes all the same.
func (w work) each(ctx context.Context, prefix string, goes func(store.Info) bool) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	next := make(chan store.Info)
	var mu sync.Mutex
	var refused error
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				err := w.Store.Delete(ctx, i.Name)
				mu.Lock()
				switch {
				case err == nil:
					w.done.Objects, w.done.Bytes = w.done.Objects+1, w.done.Bytes+i.Size
					if w.Doing != nil {
						w.Doing(w.done.Objects, w.done.Bytes)
					}
				case errors.Is(err, store.ErrDenied):
					refused = err
				default:
					end(err)
				}
				mu.Unlock()
			}
		})
	}
	err := w.Store.List(ctx, prefix, func(i store.Info) error {
		if err := w.lease.renew(ctx); err != nil || !goes(i) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case next <- i:
			return nil
		}
	})
	close(next)
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errors.Join(err, refused)
}
