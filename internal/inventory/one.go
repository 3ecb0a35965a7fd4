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
		things := l.All()
		if i := slices.IndexFunc(things, is(kind, name)); i >= 0 {
			return things[i], nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s %s: %w", kind, name, ErrUnknown)
	}
	return Thing{}, err
}

// is picks the things of a kind and name.
func is(kind, name string) func(Thing) bool {
	return func(t Thing) bool { return t.Kind == kind && t.Name == name }
}

// RemoveOne removes one thing that is in the books of a directory, after its
// proof was checked again. It removes none that a run still uses, and none in
// which something else is that is meant to live.
func RemoveOne(ctx context.Context, d host.Doer, kinds Kinds, directory, kind, name string) error {
	return withOne(ctx, d, directory, kind, name, removing(ctx, d, kinds))
}

// RemoveOwned does so with what was made to live for an owner, also what came about in part only: processes first, then
// the newest thing first. What stays is left, if that is given.
func RemoveOwned(ctx context.Context, d host.Doer, kinds Kinds, directory, owner string, stays func(Thing) bool) error {
	goes := func(t Thing) bool { return t.Life != nil && t.Life.Owner == owner && (stays == nil || !stays(t)) }
	remove := removing(ctx, d, kinds)
	_, err := withThose(ctx, d, directory, "remove what was made for "+owner, goes, func(p *pages, e Entry, others living, note noting) error {
		if err := remove(p, e, others, note); err != nil {
			return fmt.Errorf("remove %s %s: %w", e.Thing.Kind, e.Thing.Name, err)
		}
		return nil
	})
	return err
}

// handling does something with an entry of a book. others are the other things that live.
type handling func(p *pages, e Entry, others living, note noting) error

func removing(ctx context.Context, d host.Doer, kinds Kinds) handling {
	return func(p *pages, e Entry, others living, note noting) error {
		if at, ok := others.within(e.Thing); ok {
			return inTheWay(e.Thing, at)
		}
		return settle(ctx, kinds, p.holder(d, false), e, note)
	}
}

// Forget drops the line of one thing, and leaves the thing.
func Forget(ctx context.Context, d host.Doer, directory, kind, name string) error {
	return withOne(ctx, d, directory, kind, name, forgetting(ctx))
}

// ForgetOwned does so with all that was made to live for an owner.
func ForgetOwned(ctx context.Context, d host.Doer, directory, owner string) error {
	owned := func(t Thing) bool { return t.Life != nil && t.Life.Owner == owner }
	_, err := withThose(ctx, d, directory, "forget what was made for "+owner, owned, forgetting(ctx))
	return err
}

func forgetting(ctx context.Context) handling {
	return func(_ *pages, e Entry, _ living, note noting) error {
		return note(ctx, kindLeft, result{N: e.N, Why: "it was forgotten"})
	}
}

// withOne finds a thing in the books and does something with each of its entries.
func withOne(ctx context.Context, d host.Doer, directory, kind, name string, do handling) error {
	found, err := withThose(ctx, d, directory, kind+" "+name, is(kind, name), do)
	if err == nil && !found {
		return fmt.Errorf("%s %s: %w", kind, name, ErrUnknown)
	}
	return err
}

// withThose does something with each entry in the books that is picked, the newest of a book first, until that fails. The
// other books come all the same. what names those picked, where a run still uses one.
func withThose(ctx context.Context, d host.Doer, directory, what string, picked func(Thing) bool, do handling) (found bool, err error) {
	files, err := d.Glob(ctx, path.Join(host.Verbatim(directory), "*"+ending))
	if err != nil {
		return false, err
	}
	var others living
	for _, t := range livingIn(ctx, d, files) {
		if !picked(t) {
			others = append(others, t)
		}
	}
	var bad []error
	for _, file := range files {
		err := inDead(ctx, d, directory, file, func(p *pages, note noting) (err error) {
			for _, e := range p.open() {
				if picked(e.Thing) && err == nil {
					found = true
					err = do(p, e, others, note)
				}
			}
			return err
		})
		if errors.Is(err, host.ErrLocked) && inUse(ctx, d, file, picked) {
			err = fmt.Errorf("%s: %w", what, ErrLive)
		}
		if err != nil && !errors.Is(err, host.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
		}
	}
	return found, errors.Join(bad...)
}

// inUse tells whether the book of a run that lives holds such a thing.
func inUse(ctx context.Context, d host.Doer, file string, picked func(Thing) bool) bool {
	p, err := read(ctx, d, file)
	return err == nil && slices.ContainsFunc(p.open(), func(e Entry) bool { return picked(e.Thing) })
}
