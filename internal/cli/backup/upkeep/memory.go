package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// Memory is where this host keeps what it knows of its backups, so that a check need not ask a store.
type Memory struct {
	Do  host.Doer
	Dir string // the directory of this host's key
}

// Spot is a place that was opened, with its name on the command line.
type Spot struct {
	known.At
	Store store.Store
}

// Made notes a backup that was made in a place. keys are the files here with the keys of all who can open it.
func (m Memory) Made(ctx context.Context, at Spot, b manifest.Manifest, keys []string) error {
	lies := known.Find(ctx, m.Do, at.Store)
	return known.Note(ctx, m.Do, m.Dir, at.At, func(p *known.Place) {
		p.Lies, p.Keys = lies, slices.Clone(keys[:min(len(keys), known.MostKeys)])
		p.Made(b)
	})
}

// Copied notes those of this host's backups that are in another place now too. Who can open them is known from the first place.
func (m Memory) Copied(ctx context.Context, from, to Spot, all []manifest.Manifest) error {
	if ours, err := backup.Ours(ctx, m.Do, m.Dir, to.Store); err != nil || !ours {
		return err
	}
	first, err := known.Of(ctx, m.Do, m.Dir, from.At)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lies := known.Find(ctx, m.Do, to.Store)
	return known.Note(ctx, m.Do, m.Dir, to.At, func(p *known.Place) {
		p.Lies, p.Keys = lies, first.Keys
		for _, b := range all {
			p.Has(b)
		}
	})
}

// Listed notes all backups of this host that a place has, and what is archived behind them.
func (m Memory) Listed(ctx context.Context, at Spot, all []backup.Found, behind map[string]archive.Behind) error {
	ours, err := backup.Ours(ctx, m.Do, m.Dir, at.Store)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // without it the place is empty
		return err
	}
	if _, bad := known.Of(ctx, m.Do, m.Dir, at.At); !ours && (err == nil || bad != nil) {
		return hint.Usage("the backups in "+at.URL+" are not this host's, so --note records nothing here", "--note is for the host that makes them")
	}
	return known.Note(ctx, m.Do, m.Dir, at.At, func(p *known.Place) {
		p.See(all, time.Now())
		p.Logged(all, behind, time.Now())
	})
}

// Tried notes the result of starting a server on a backup, if it is of this host.
func (m Memory) Tried(ctx context.Context, at Spot, b manifest.Manifest, proof manifest.Proof) error {
	if ours, err := backup.Ours(ctx, m.Do, m.Dir, at.Store); err != nil || !ours {
		return err
	}
	return known.Note(ctx, m.Do, m.Dir, at.At, func(p *known.Place) { p.Has(b); p.Tried(b, proof) })
}

// Emptied is an error if a directory should have backups of this host and has none. This is what the mount point of a disk looks like
// that is not mounted: whatever is written there fills the disk of the data.
func (m Memory) Emptied(ctx context.Context, at Spot) error {
	p, err := known.Of(ctx, m.Do, m.Dir, at.At)
	if err != nil || p.Lies.Directory == "" {
		return nil // nothing is known about it, so it may be new
	}
	if _, err := backup.Ours(ctx, m.Do, m.Dir, at.Store); !errors.Is(err, store.ErrNotFound) {
		return nil // the run will find out what is wrong with it
	}
	return hint.With(fmt.Errorf("%s had backups of this host, but is empty now", p.Lies.Directory),
		"mount the disk that belongs there; if it was emptied on purpose, remove "+known.File(m.Dir, at.At))
}
