package store

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/hint"
)

// Locker is a store that may keep objects from being removed, whoever wants to.
type Locker interface {
	// Locks says what it does by itself.
	Locks(ctx context.Context) (Locks, error)
	// Until tells until when an object cannot be removed; zero when nothing keeps it.
	Until(ctx context.Context, name string) (time.Time, error)
}

// Locks are what a store does by itself.
type Locks struct {
	Can      bool          // objects are locked when that is asked for
	Always   time.Duration // for how long, when nobody asks; 0 for not
	Versions bool          // what is replaced or removed stays, as a version of before
}

// AsLocker gives what a store tells of locks, also of one that is tried patiently.
func AsLocker(s Store) (Locker, bool) {
	if p, is := s.(*Patient); is {
		s = p.Store
	}
	l, is := s.(Locker)
	return l, is
}

// MayLock gives an error for a store that cannot lock objects, before the first of them is sent. One that does not let us ask is tried.
func MayLock(ctx context.Context, s Store) error {
	if l, is := AsLocker(s); is {
		if locks, err := l.Locks(ctx); err != nil || locks.Can {
			return nil
		}
	}
	return hint.With(fmt.Errorf("%s cannot lock objects", s.URL()), "only a bucket that was made with object lock can; without --lock-days nothing is locked")
}
