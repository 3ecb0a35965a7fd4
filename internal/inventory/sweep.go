package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plumb/internal/host"
)

// Left is what a book still holds.
type Left struct {
	Run    string  // of which lab run
	Book   string  // its file
	Live   bool    // the lab still runs: hands off
	Things []Thing // that go with the run, in the order in which they are taken away
	Living []Entry // that are meant to live, the newest first
}

// All gives both.
func (l Left) All() []Thing {
	all := slices.Clone(l.Things)
	for _, e := range l.Living {
		all = append(all, e.Thing)
	}
	return all
}

// List reads all books. With an error, which names the books
// that cannot be read, it gives the others.
func (b Books) List(ctx context.Context) ([]Left, error) {
	files, err := b.files(ctx)
	if err != nil {
		return nil, err
	}
	var all []Left
	var bad []error
	for _, file := range files {
		l, err := b.list(ctx, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			bad = append(bad, err)
		default:
			all = append(all, l)
		}
	}
	return all, errors.Join(bad...)
}

func (b Books) list(ctx context.Context, file string) (Left, error) {
	l := Left{Book: file}
	unlock, err := b.take(ctx, file)
	switch {
	case errors.Is(err, host.ErrLocked):
		l.Live = true
	case err != nil:
		return l, err
	default:
		defer unlock()
	}
	p, err := b.read(ctx, file)
	if err != nil {
		return l, err
	}
	l.Run = p.runOf(file)
	for _, e := range p.open() {
		if e.lives() {
			l.Living = append(l.Living, e)
		} else {
			l.Things = append(l.Things, e.Thing)
		}
	}
	return l, nil
}

// take locks the book of a lab that is dead.
func (b Books) take(ctx context.Context, file string) (unlock func(), err error) {
	release, err := b.doorway(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if Missing(ctx, b.Do, file) { // to lock it would make it
		return nil, fs.ErrNotExist
	}
	if err := b.believable(ctx, file); err != nil {
		return nil, err
	}
	return b.Do.Lock(ctx, file)
}

// believable refuses a book that somebody else can have written: what stands
// in it is done with our rights.
func (b Books) believable(ctx context.Context, file string) error {
	if _, err := b.Do.Readlink(ctx, file); err == nil {
		return fmt.Errorf("%s is a link: no lab made it, so it is not followed", file)
	}
	for _, name := range []string{b.Directory, file} {
		st, err := b.Do.Stat(ctx, name)
		if err != nil {
			return err
		}
		if why := st.Changeable(); why != "" {
			return fmt.Errorf("%s is not trusted: %s %s, and a sweep removes what it names. If a lab of yours wrote it: chown it to you and chmod go-w it", file, name, why)
		}
	}
	return nil
}

func (b Books) read(ctx context.Context, file string) (*pages, error) {
	text, err := b.Do.Raw(ctx, file)
	if err != nil {
		return nil, err
	}
	p, err := replay(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return p, nil
}

// Swept is what became of one thing.
type Swept struct {
	Thing Thing
	Err   error // nil: it is gone; ErrForeign: it was not ours any more
}

// Sweep takes away what dead labs left, limits and processes first, then
// newest first, checking each proof. What is meant to live is not touched, nor
// what it is in. The error names books that could not be read or kept; the
// others are swept.
func (b Books) Sweep(ctx context.Context) ([]Swept, error) {
	return b.SweepThose(ctx, func(string, []Entry) bool { return true })
}

// SweepThose is Sweep for the books that are picked by their run and what is left in them.
func (b Books) SweepThose(ctx context.Context, mine func(run string, left []Entry) bool) ([]Swept, error) {
	files, err := b.files(ctx)
	if err != nil {
		return nil, err
	}
	living := b.living(ctx, files)
	var all []Swept
	var bad []error
	for _, file := range files {
		err := b.inDead(ctx, file, func(p *pages, note noting) error {
			if !mine(p.runOf(file), p.open()) {
				return nil
			}
			p.clear(func(e Entry) error {
				if at, ok := living.within(e.Thing); ok {
					return keepFor(ctx, e, at, note)
				}
				return b.settle(ctx, p.holder(b.Do, false), e, note)
			}, func(e Entry, err error) { all = append(all, Swept{e.Thing, err}) })
			return nil
		})
		if err != nil && !errors.Is(err, host.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
		}
	}
	return all, errors.Join(bad...)
}

// noting writes a record of a book down.
type noting func(ctx context.Context, kind string, body any) error

// inDead does something with the book of a run that is dead, and removes the
// book when nothing is left in it.
func (b Books) inDead(ctx context.Context, file string, do func(*pages, noting) error) error {
	unlock, err := b.take(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := b.read(ctx, file)
	if err != nil {
		return err
	}
	err = do(p, func(ctx context.Context, kind string, body any) error { return p.note(ctx, b.Do, file, kind, body) })
	if err != nil || len(p.open()) > 0 {
		return err
	}
	release, err := b.doorway(ctx)
	if err != nil {
		return err
	}
	defer release()
	return b.Do.Remove(ctx, file)
}
