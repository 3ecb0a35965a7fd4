package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// locker is a store of which only its locks are known.
type locker struct {
	Store
	Locker
	locks Locks
	err   error
}

func (locker) URL() string                            { return "s3://b" }
func (l locker) Locks(context.Context) (Locks, error) { return l.locks, l.err }

// TestMayLock: a lock that is asked for counts in place of what the bucket does by itself, so it must not be the shorter one. One that
// does not let us ask is tried.
func TestMayLock(t *testing.T) {
	const day = 24 * time.Hour
	bucket := locker{locks: Locks{Can: true, Always: 30 * day}}
	for name, c := range map[string]struct {
		s     Store
		lasts time.Duration
		fails string
	}{
		"no locks":               {lockless{}, day, "cannot lock objects"},
		"without object lock":    {locker{}, day, "cannot lock objects"},
		"nothing by itself":      {locker{locks: Locks{Can: true}}, day, ""},
		"shorter than by itself": {bucket, 30*day - 1, "locks everything for 30 days by itself"},
		"patiently":              {Patiently(bucket, soon, 1, nil), day, "locks everything for 30 days by itself"},
		"as long":                {bucket, 30 * day, ""},
		"not told":               {locker{err: errors.New("denied")}, day, ""},
	} {
		if err := MayLock(t.Context(), c.s, c.lasts); (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lockless is a store without locks.
type lockless struct{ Store }

func (lockless) URL() string { return "file:///d" }
