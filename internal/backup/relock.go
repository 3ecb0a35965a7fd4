package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// relocking has a store keep objects that it has for some time from now on.
type relocking struct {
	in      store.Store
	lasts   time.Duration
	workers int // 0: as many as send
	now     func() time.Time
}

// one keeps an object, unless it is kept for as long already, or for a day less, or a quarter where that is not so long: so long ago a
// run that goes on may have sent it.
func (r relocking) one(ctx context.Context, name string) error {
	l, is := store.AsLocker(r.in)
	if !is {
		return errors.New("it cannot lock objects")
	}
	until, err := l.Until(ctx, name)
	if err != nil || !until.Before(r.now().Add(r.lasts-min(24*time.Hour, r.lasts/4))) {
		return err
	}
	return l.Lock(ctx, name, r.now().Add(r.lasts))
}

// all keeps several.
func (r relocking) all(ctx context.Context, names iter.Seq[string]) error {
	feed := func(give func(string) error) error {
		for name := range names {
			if err := give(name); err != nil {
				return err
			}
		}
		return nil
	}
	return store.Together(ctx, cmp.Or(r.workers, stream.Workers), feed, func(ctx context.Context, name string) error {
		if err := r.one(ctx, name); err != nil {
			return fmt.Errorf("lock %s: %w", name, err)
		}
		return nil
	})
}

// lasting makes sure, before the manifest of a backup is written, that all it needs stays for as long as itself: what it builds on
// is in the store, and locked anew where the backup is locked, because without it nothing can be restored. Of its own objects those
// that a run before sent have been locked since then. sentBefore: there can be such.
func (b *Backup) lasting(ctx context.Context, in store.Store, m manifest.Manifest, sentBefore bool) error {
	on, err := b.keepBases(ctx, in, m.Bases())
	if err != nil || b.Lock == 0 {
		return err
	}
	lock := relocking{in, b.Lock, b.Workers, b.Now}
	for _, one := range on {
		if err := lock.all(ctx, one.All()); err != nil {
			return fmt.Errorf("it builds on backup %s, which is to be locked as long: %w", one.ID, err)
		}
	}
	if !sentBefore {
		return nil
	}
	return lock.all(ctx, m.Sent())
}
