package store

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/hint"
	"plumb/internal/units"
)

// Locker is a store that may keep objects from being removed, whoever wants to.
type Locker interface {
	// Locks says what it does by itself.
	Locks(ctx context.Context) (Locks, error)
	// Until tells until when an object cannot be removed; zero when nothing keeps it.
	Until(ctx context.Context, name string) (time.Time, error)
	// Lock keeps an object that is there from being removed until then, which is later than what keeps it now.
	Lock(ctx context.Context, name string, until time.Time) error
}

// Locks are what a store does by itself.
type Locks struct {
	Can      bool          // objects are locked when that is asked for
	Always   time.Duration // for how long, when nobody asks; 0 for not
	Versions bool          // what is replaced or removed stays, as a version of before
}

// AsLocker gives what a store tells of locks. One that is tried patiently is asked patiently.
func AsLocker(s Store) (Locker, bool) {
	p, patient := s.(*Patient)
	if patient {
		s = p.Store
	}
	l, is := s.(Locker)
	if is && patient {
		l = patientLocker{p, l}
	}
	return l, is
}

// patientLocker tries again what fails, as its store does.
type patientLocker struct {
	p *Patient
	l Locker
}

// Locks implements Locker.
func (t patientLocker) Locks(ctx context.Context) (locks Locks, err error) {
	err = t.p.again(ctx, func() error { locks, err = t.l.Locks(ctx); return err })
	return locks, err
}

// Until implements Locker.
func (t patientLocker) Until(ctx context.Context, name string) (until time.Time, err error) {
	err = t.p.again(ctx, func() error { until, err = t.l.Until(ctx, name); return err })
	return until, err
}

// Lock implements Locker.
func (t patientLocker) Lock(ctx context.Context, name string, until time.Time) error {
	return t.p.again(ctx, func() error { return t.l.Lock(ctx, name, until) })
}

// MayLock gives an error for a store that cannot lock objects, before the first of them is sent; and for one that by itself would lock
// them for longer: what is asked for counts in place of that. One that does not let us ask is tried.
func MayLock(ctx context.Context, s Store, lasts time.Duration) error {
	var locks Locks
	if l, is := AsLocker(s); is {
		var err error
		if locks, err = l.Locks(ctx); err != nil {
			return nil
		}
	}
	switch {
	case !locks.Can:
		return hint.With(fmt.Errorf("%s cannot lock objects", s.URL()), "only a bucket that was made with object lock can; without --lock-days nothing is locked")
	case lasts < locks.Always:
		days := int(locks.Always.Hours() / 24)
		return hint.With(fmt.Errorf("%s locks everything for %s by itself, and --lock-days would shorten that", s.URL(), units.Count(days, "day")),
			fmt.Sprintf("leave out --lock-days, or give %d at least", days))
	}
	return nil
}
