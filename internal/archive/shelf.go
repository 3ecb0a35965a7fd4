package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// Shelf is a store with archives, for who reads them.
type Shelf struct {
	Store   store.Store
	Trust   []note.Verifier    // whose entries are believed
	Retired []manifest.Retired // of these keys what they had kept when they were given up
	Keys    []age.Identity
	Workers int          // how many pieces are on their way at once, where they are read ahead; 0 for the usual
	Pace    *stream.Pace // of what is read

	after string // the base behind which all that is read lies; "" for none
}

// After is the shelf for who reads only what lies behind a base, by its ID: nothing of that was kept before the base was named, so that a
// key which had been given up by then signed none of it, whatever time it says.
func (s Shelf) After(base string) Shelf {
	s.after = base
	return s
}

// List gives the pieces that are there, of one server or ("") of all, by server, series, file and place. Their names
// say it: none of them is opened, and so none is believed yet.
func (s Shelf) List(ctx context.Context, server string) (all []Piece, err error) {
	prefix := Prefix
	if server != "" {
		prefix += server + "/"
	}
	err = s.Store.List(ctx, prefix, func(i store.Info) error {
		if p, is := ofEntry(i.Name); is {
			all = append(all, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the archive in %s: %w", s.Store.URL(), err)
	}
	slices.SortFunc(all, Order)
	return all, nil
}

// Order puts pieces in the order of their names.
func Order(a, b Piece) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Series, b.Series), cmp.Compare(a.File, b.File), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// ErrUnbelieved is why what has the name of an entry counts for nothing: who may write to the store can put anything there.
var ErrUnbelieved = errors.New("it is not trusted")

// Entry reads the entry of a piece, if somebody signed it who is trusted.
func (s Shelf) Entry(ctx context.Context, p Piece) (Entry, error) {
	text, _, err := store.Read(ctx, s.Store, p.Name(), MaxEntry)
	if errors.Is(err, store.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", ErrUnbelieved, err)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", p.Name(), err)
	}
	return s.Open(text, p)
}

// Open opens the entry of a piece.
func (s Shelf) Open(text []byte, p Piece) (Entry, error) {
	e, err := manifest.Believe(s.Trust, s.Retired, func(keys ...note.Verifier) (Entry, time.Time, error) {
		e, err := open(text, keys...)
		return e, manifest.SignedAt(s.after, e.Kept), err
	})
	if err == nil && e.Piece != p { // of another piece, put here by who may write to the store
		err = fmt.Errorf("it is that of %s from %d to %d of %s", e.File, e.From, e.To, e.Server)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w: %w", p.Name(), ErrUnbelieved, err)
	}
	return e, nil
}

// Read writes a piece to out. What it writes was checked; with an error it is only its beginning.
func (s Shelf) Read(ctx context.Context, e Entry, out io.Writer) error {
	o, err := chunk.NewOpener(s.Keys)
	if err != nil {
		return fmt.Errorf("read %s of the archive: %w", e.File, err)
	}
	defer o.Close()
	var object, plain []byte
	for n, c := range e.Chunks {
		object, plain = slices.Grow(object[:0], int(c.Size)), slices.Grow(plain[:0], int(c.Plain))
		err := s.Pace.Wait(ctx, int(c.Size))
		var got []byte
		if err == nil {
			got, err = stream.Fetch(ctx, s.Store, e.chunk(n, c.SHA256), c, object[:c.Size])
		}
		if err == nil {
			got, err = o.Open(got, plain, c.Plain)
		}
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("an object of it is gone: %w", err)
		}
		if err == nil {
			_, err = out.Write(got)
		}
		if err != nil {
			return fmt.Errorf("read %s of the archive from %d to %d: %w", e.File, e.From, e.To, err)
		}
	}
	return nil
}
