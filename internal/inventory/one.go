package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"plumb/internal/host"
)

// Find gives a thing as the books have it. With an error of what cannot be read
// nobody knows whether it is in there.
func Find(ctx context.Context, d host.Doer, directory, kind, name string) (Thing, error) {
	all, err := List(ctx, d, directory)
	for _, l := range all {
		for _, e := range l.Living {
			l.Things = append(l.Things, e.Thing)
		}
		i := slices.IndexFunc(l.Things, func(t Thing) bool { return t.Kind == kind && t.Name == name })
		if i >= 0 {
			return l.Things[i], nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s %s: %w", kind, name, ErrUnknown)
	}
	return Thing{}, err
}

// RemoveOne removes one thing that is in the books of a directory, after its
// proof was checked again. It removes none that a run still uses, and none in
// which something else is that is meant to live.
func RemoveOne(ctx context.Context, d host.Doer, kinds Kinds, directory, kind, name string) error {
	return withOne(ctx, d, directory, kind, name, func(p *pages, e Entry, others living, note noting) error {
		if at, ok := others.within(e.Thing); ok {
			return inTheWay(e.Thing, at)
		}
		return settle(ctx, kinds, p.holder(d, false), e, note)
	})
}

// Forget drops the line of one thing, and leaves the thing.
func Forget(ctx context.Context, d host.Doer, directory, kind, name string) error {
	return withOne(ctx, d, directory, kind, name, func(_ *pages, e Entry, _ living, note noting) error {
		return note(ctx, kindLeft, result{N: e.N, Why: "it was forgotten"})
	})
}

// withOne finds a thing in the books and does something with each of its
// entries, the newest first. others are the other things that live.
func withOne(ctx context.Context, d host.Doer, directory, kind, name string, do func(p *pages, e Entry, others living, note noting) error) error {
	files, err := d.Glob(ctx, path.Join(directory, "*"+ending))
	if err != nil {
		return err
	}
	var others living
	for _, t := range livingIn(ctx, d, files) {
		if t.Kind != kind || t.Name != name {
			others = append(others, t)
		}
	}
	found := false
	var bad []error
	for _, file := range files {
		err := inDead(ctx, d, directory, file, func(p *pages, note noting) (err error) {
			for _, e := range p.open() {
				if e.Thing.Kind == kind && e.Thing.Name == name && err == nil {
					found = true
					err = do(p, e, others, note)
				}
			}
			return err
		})
		if errors.Is(err, host.ErrLocked) && inLive(ctx, d, file, kind, name) {
			err = fmt.Errorf("%s %s: %w", kind, name, ErrLive)
		}
		if err != nil && !errors.Is(err, host.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
		}
	}
	if !found && len(bad) == 0 {
		return fmt.Errorf("%s %s: %w", kind, name, ErrUnknown)
	}
	return errors.Join(bad...)
}

// inLive tells whether the book of a run that lives holds a thing.
func inLive(ctx context.Context, d host.Doer, file, kind, name string) bool {
	p, err := read(ctx, d, file)
	if err != nil {
		return false
	}
	_, ok := p.named(kind, name)
	return ok
}

// named gives the newest entry of a kind and name that is not gone.
func (p *pages) named(kind, name string) (Entry, bool) {
	for _, e := range p.open() {
		if e.Thing.Kind == kind && e.Thing.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
