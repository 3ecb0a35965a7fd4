package moment

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// earlyError is the error of a moment before a base.
type earlyError struct {
	error
	server string // in the archive
}

// Unwrap gives what went wrong.
func (e *earlyError) Unwrap() error { return e.error }

// BeforeBase says of an error that the moment comes before the base, whose log the archive calls server.
func BeforeBase(err error, server string) error {
	return &earlyError{hint.With(err, "take an earlier backup (plumb backup list)"), server}
}

// earliest says which backup reaches an early moment, or from when on those that are here reach.
func (r Restore) earliest(ctx context.Context, e Engine, m manifest.Manifest, a Asked, early *earlyError) error {
	all, err := r.List(ctx)
	if err != nil {
		return early // which is true anyway
	}
	var first, fit manifest.Manifest
	for _, f := range all {
		if f.Err != nil || !e.Knows(f.Manifest) || f.Of() != m.Of() || (f.Point == "") != (m.Point == "") {
			continue
		}
		if first.ID == "" || whole(f.Manifest).Before(whole(first)) {
			first = f.Manifest
		}
		if at := whole(f.Manifest); f.ID != m.ID && !at.After(a.To.Time) && at.After(whole(fit)) {
			fit = f.Manifest
		}
	}
	switch {
	case first.ID == "":
		return early
	case fit.ID != "":
		return hint.With(early.error, "backup "+fit.ID+" was whole before it: give that id")
	case !a.To.Time.IsZero() && !whole(m).After(a.To.Time):
		return hint.With(early.error, "restore to a later moment: the server's clock was ahead of that of the host that backed it up")
	case a.To.Time.IsZero() && first.ID != m.ID:
		return hint.With(early.error, "take an earlier backup (plumb backup list); the earliest moment that can be reached from the backups here is "+reached(first))
	}
	why := "there is no earlier backup here"
	if b, err := r.Shelf().Beginning(ctx, early.server); err == nil && b.Gone.Key != "" {
		why = b.Pruned().Error()
	}
	return hint.With(fmt.Errorf("%w; %s, and the earliest moment that can be reached from the backups here is %s", early.error, why, reached(first)), "restore to that moment or a later one")
}

// whole is when a base was whole for certain: its end is told in whole seconds. A point was whole before it was sent.
func whole(m manifest.Manifest) time.Time {
	at := m.Ended
	if m.Point != "" {
		at = m.Began
	}
	return at.UTC().Truncate(time.Second).Add(time.Second)
}

// reached is the first moment to which a base can be brought.
func reached(m manifest.Manifest) string {
	return units.Moment(whole(m)) + ", with backup " + m.ID
}
