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
	err := store.Together(ctx, workers, feed, func(ctx context.Context, i store.Info) error {
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
