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
	"plumb/internal/units"
)

// relocking locks objects that a store already has, for some time from now on.
type relocking struct {
	in      store.Store
	lasts   time.Duration
	workers int // 0: as many as send
	now     func() time.Time
}

// one locks an object, unless it is already locked for about as long. About: the lock may be a day shorter, or a quarter of its
// time if that is less, because a run that was resumed may have sent the object that long ago.
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

// all locks several objects.
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

// lasting makes sure, before the manifest of a backup is written, that everything it needs is kept as long as itself. The backups
// that it builds on must be in the store, and are locked again if this one is locked. sentBefore: an earlier run sent some of its
// own objects, whose locks began then; these are locked again too.
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

// short warns of a lock that ends before the rules of the last prune of a store let a backup go. Nothing depends on it: a store that does
// not answer is told by what comes next.
func (b *Backup) short(ctx context.Context, in store.Store) {
	text, _, err := in.Get(ctx, manifest.LeaseName, make([]byte, manifest.MaxLease))
	if err != nil {
		return
	}
	if keeps := manifest.OpenLease(text).Keeps; b.Lock < keeps {
		b.warn("the lock is short", fmt.Errorf("the last prune of %s keeps backups for %s, but --lock-days locks this one only for %s: after that anybody with the login can remove it",
			in.URL(), units.Age(int64(keeps.Seconds())), units.Age(int64(b.Lock.Seconds()))))
	}
}
