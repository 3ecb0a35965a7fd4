package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
)

// Break is where a log could not be gone on with: no restore leads over it. It matters until a base begins behind it.
type Break struct {
	At  time.Time // when it was noticed
	Why string
}

// text is how a break is told.
func (b Break) text() string {
	at := b.At.UTC().Format(time.RFC3339)
	if b.Why == "" {
		return at
	}
	return at + ": " + b.Why
}

// MostBreaks is how many of the times that a log broke off are told one by one.
const MostBreaks = 10

// broke notes at which places a log broke off behind which no base begins.
func (s *Source) broke(all []Break) {
	s.Breaks, s.Before = nil, max(0, len(all)-MostBreaks)
	for _, b := range all[s.Before:] {
		s.Breaks = append(s.Breaks, b.text())
	}
}

// lookAgain is how long what was found of bases holds while a log is broken off: looking for them lists all that the store has.
const lookAgain = 10 * time.Minute

// breaks tells which breaks of a log still matter.
type breaks struct {
	looked time.Time // when the store was asked last
	base   time.Time // when the newest base began that it had
}

// matter leaves those behind which no base begins. When the store cannot be asked, what was found before holds.
func (b *breaks) matter(all []Break, now time.Time, newest func(since time.Time) (time.Time, error)) (left []Break, err error) {
	left = b.behind(all)
	if len(left) == 0 || now.Sub(b.looked) < lookAgain && !now.Before(b.looked) {
		return left, nil
	}
	b.looked = now
	base, err := newest(left[0].At)
	if err == nil && base.After(b.base) {
		b.base = base
	}
	return b.behind(all), err
}

// behind gives the breaks behind which the newest base that is known does not begin.
func (b *breaks) behind(all []Break) []Break {
	return slices.DeleteFunc(slices.Clone(all), func(one Break) bool { return b.base.After(one.At) })
}

// late is how much older than its beginning the name of a backup may be: it was begun again after it was killed.
const late = 48 * time.Hour

// Newest tells when the newest base began that a store has, if that was later than a time, as somebody signed it who is trusted. A point
// begins when it is taken.
func (s Shelf) Newest(ctx context.Context, isBase func(manifest.Manifest) bool, since time.Time) (at time.Time, err error) {
	var ids []string
	err = s.Store.List(ctx, manifest.Prefix, func(i store.Info) error {
		if id := manifest.OfManifest(i.Name); id != "" && manifest.Made(id).After(since.Add(-late)) {
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return at, fmt.Errorf("list the backups of %s: %w", s.Store.URL(), err)
	}
	read := signed.Reader{Store: s.Store, Trust: s.Trust, Retired: s.Retired}
	for _, id := range ids {
		text, err := read.Text(ctx, id)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, signed.ErrRemoved) || errors.Is(err, store.ErrTooLarge) {
			continue // pruned, or no manifest: who may write to the store can put anything there
		}
		if err != nil {
			return at, fmt.Errorf("read the manifest of %s: %w", id, err)
		}
		m, _, err := read.Open(text, id)
		if err == nil && isBase(m) && m.Taken().After(since) && m.Taken().After(at) {
			at = m.Taken()
		}
	}
	return at, nil
}
