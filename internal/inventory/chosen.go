package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plumb/internal/host"
)

// Find gives a thing as the books have it. With an error of what cannot be read
// nobody knows whether it is in there.
func (b Books) Find(ctx context.Context, kind, name string) (Thing, error) {
	all, err := b.List(ctx)
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
func (b Books) RemoveOne(ctx context.Context, kind, name string) error {
	return b.withOne(ctx, kind, name, b.remove)
}

// RemoveOwned removes what was made to live for an owner, as RemoveOne does, also what came about in part only: processes
// first, then the newest thing first. What stays tells of is left; nil for nothing.
func (b Books) RemoveOwned(ctx context.Context, owner string, stays func(Thing) bool) error {
	goes := func(t Thing) bool { return t.Life != nil && t.Life.Owner == owner && (stays == nil || !stays(t)) }
	_, err := b.withThose(ctx, "remove what was made for "+owner, goes, func(ctx context.Context, p *pages, e Entry, others living, note noting) error {
		if err := b.remove(ctx, p, e, others, note); err != nil {
			return fmt.Errorf("remove %s %s: %w", e.Thing.Kind, e.Thing.Name, err)
		}
		return nil
	})
	return err
}

// handling does something with an entry of a book. others are the other things that live.
type handling func(ctx context.Context, p *pages, e Entry, others living, note noting) error

func (b Books) remove(ctx context.Context, p *pages, e Entry, others living, note noting) error {
	if at, ok := others.within(e.Thing); ok {
		return inTheWay(e.Thing, at)
	}
	return b.settle(ctx, p.holder(b.Do, false), e, note)
}

// Forget drops the line of one thing, and leaves the thing.
func (b Books) Forget(ctx context.Context, kind, name string) error {
	return b.withOne(ctx, kind, name, forget)
}

// ForgetOwned drops the lines of all that was made to live for an owner, and leaves it.
func (b Books) ForgetOwned(ctx context.Context, owner string) error {
	owned := func(t Thing) bool { return t.Life != nil && t.Life.Owner == owner }
	_, err := b.withThose(ctx, "forget what was made for "+owner, owned, forget)
	return err
}

func forget(ctx context.Context, _ *pages, e Entry, _ living, note noting) error {
	return note(ctx, kindLeft, result{N: e.N, Why: "it was forgotten"})
}

// withOne finds a thing in the books and does something with each of its entries.
func (b Books) withOne(ctx context.Context, kind, name string, do handling) error {
	found, err := b.withThose(ctx, kind+" "+name, is(kind, name), do)
	if err == nil && !found {
		return fmt.Errorf("%s %s: %w", kind, name, ErrUnknown)
	}
	return err
}

// withThose does something with each entry in the books that is picked, the newest of a book first, until that fails. The
// other books come all the same. what names those picked, where a run still uses one.
func (b Books) withThose(ctx context.Context, what string, picked func(Thing) bool, do handling) (found bool, err error) {
	files, err := b.files(ctx)
	if err != nil {
		return false, err
	}
	var others living
	for _, t := range b.living(ctx, files) {
		if !picked(t) {
			others = append(others, t)
		}
	}
	var bad []error
	for _, file := range files {
		err := b.inDead(ctx, file, func(p *pages, note noting) (err error) {
			for _, e := range p.open() {
				if picked(e.Thing) && err == nil {
					found = true
					err = do(ctx, p, e, others, note)
				}
			}
			return err
		})
		if errors.Is(err, host.ErrLocked) && b.inUse(ctx, file, picked) {
			err = fmt.Errorf("%s: %w", what, ErrLive)
		}
		if err != nil && !errors.Is(err, host.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
		}
	}
	return found, errors.Join(bad...)
}

// inUse tells whether the book of a run that lives holds such a thing.
func (b Books) inUse(ctx context.Context, file string, picked func(Thing) bool) bool {
	p, err := b.read(ctx, file)
	return err == nil && slices.ContainsFunc(p.open(), func(e Entry) bool { return picked(e.Thing) })
}
