package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"plumb/internal/host"
)

// Left is what a book still holds.
type Left struct {
	Run    string  // of which lab run
	Book   string  // its file
	Live   bool    // the lab still runs: hands off
	Things []Thing // in the order in which they are taken away
}

// List reads all books of a directory. With an error, which names the books
// that cannot be read, it gives the others.
func List(ctx context.Context, d host.Doer, directory string) ([]Left, error) {
	files, err := d.Glob(ctx, path.Join(directory, "*"+ending))
	if err != nil {
		return nil, err
	}
	var all []Left
	var bad []error
	for _, file := range files {
		l, err := list(ctx, d, directory, file)
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

func list(ctx context.Context, d host.Doer, directory, file string) (Left, error) {
	l := Left{Book: file}
	unlock, err := take(ctx, d, directory, file)
	switch {
	case errors.Is(err, host.ErrLocked):
		l.Live = true
	case err != nil:
		return l, err
	default:
		defer unlock()
	}
	p, err := read(ctx, d, file)
	if err != nil {
		return l, err
	}
	l.Run = p.runOf(file)
	for _, e := range p.open() {
		l.Things = append(l.Things, e.Thing)
	}
	return l, nil
}

// take locks the book of a lab that is dead.
func take(ctx context.Context, d host.Doer, directory, file string) (unlock func(), err error) {
	release, err := doorway(ctx, d, directory)
	if err != nil {
		return nil, err
	}
	defer release()
	if Missing(ctx, d, file) { // to lock it would make it
		return nil, fs.ErrNotExist
	}
	if err := believable(ctx, d, directory, file); err != nil {
		return nil, err
	}
	return d.Lock(ctx, file)
}

// believable refuses a book that somebody else can have written: what stands
// in it is done with our rights.
func believable(ctx context.Context, d host.Doer, directory, file string) error {
	if _, err := d.Readlink(ctx, file); err == nil {
		return fmt.Errorf("%s is a link: no lab made it, so it is not followed", file)
	}
	for _, name := range []string{directory, file} {
		st, err := d.Stat(ctx, name)
		if err != nil {
			return err
		}
		if why := st.Changeable(); why != "" {
			return fmt.Errorf("%s is not believed: %s %s, and what it names is taken away. If a lab of yours wrote it: chown it to you and chmod go-w it", file, name, why)
		}
	}
	return nil
}

func read(ctx context.Context, d host.Doer, file string) (*pages, error) {
	text, err := d.Raw(ctx, file)
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
// newest first, checking each proof. The error names books that could not be
// read or kept; the others are swept.
func Sweep(ctx context.Context, d host.Doer, kinds Kinds, directory string) ([]Swept, error) {
	files, err := d.Glob(ctx, path.Join(directory, "*"+ending))
	if err != nil {
		return nil, err
	}
	var all []Swept
	var bad []error
	for _, file := range files {
		swept, err := sweep(ctx, d, kinds, directory, file)
		all = append(all, swept...)
		if err != nil && !errors.Is(err, host.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			bad = append(bad, err)
		}
	}
	return all, errors.Join(bad...)
}

func sweep(ctx context.Context, d host.Doer, kinds Kinds, directory, file string) (all []Swept, err error) {
	unlock, err := take(ctx, d, directory, file)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := read(ctx, d, file)
	if err != nil {
		return nil, err
	}
	note := func(ctx context.Context, kind string, body any) error { return p.note(ctx, d, file, kind, body) }
	p.clear(func(e Entry) error { return settle(ctx, kinds, p.holder(d, false), e, note) },
		func(e Entry, err error) { all = append(all, Swept{e.Thing, err}) })
	if len(p.open()) > 0 {
		return all, nil
	}
	release, err := doorway(ctx, d, directory)
	if err != nil {
		return all, err
	}
	defer release()
	return all, d.Remove(ctx, file)
}
