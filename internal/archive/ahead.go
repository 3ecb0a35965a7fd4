package archive

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// Ahead is the shelf for who reads some pieces in their order, until what it gives besides is called: while one is passed on, those behind
// it are on their way. Else each would wait twice for an answer of the store, and a log that was followed for a week is a hundred thousand
// pieces.
func (s Shelf) Ahead(ctx context.Context, pieces []Piece) (Shelf, func()) {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{Store: s.Store, ctx: ctx, shelf: s, pieces: pieces, place: make(map[Piece]int, len(pieces)), begun: map[int]*early{}}
	for i, p := range pieces {
		a.place[p] = i
	}
	s.Store = a
	return s, func() {
		cancel()
		a.all.Wait()
	}
}

// ahead is a store of which some objects are read before they are asked for. They are believed no more for that: who asks compares what
// he gets with what was signed, as ever, and asks once more for what is another.
type ahead struct {
	store.Store
	ctx    context.Context
	shelf  Shelf // which tells what a piece has
	pieces []Piece
	place  map[Piece]int

	all   sync.WaitGroup
	mu    sync.Mutex
	begun map[int]*early // by place
}

// early is one piece that is read before it is asked for.
type early struct {
	done chan struct{}
	mu   sync.Mutex
	got  map[string]answered // by the names of objects
}

// answered is what the store answered.
type answered struct {
	data []byte
	tag  string
	err  error
}

// Get implements store.Store.
func (a *ahead) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	if p, _, is := Object(name); is {
		if one := a.turn(p); one != nil {
			if got, had := one.take(ctx, name); had && len(got.data) <= cap(into) {
				return append(into[:0], got.data...), got.tag, got.err
			}
		}
	}
	return a.Store.Get(ctx, name, into)
}

// turn begins to read the pieces from one on, as many as may be on their way at once, and lets go of all others. It gives that one; nil
// where it is none of ours.
func (a *ahead) turn(p Piece) *early {
	from, is := a.place[p]
	if !is {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	to := min(from+cmp.Or(a.shelf.Workers, stream.Workers), len(a.pieces))
	for at := range a.begun {
		if at < from || at >= to {
			delete(a.begun, at)
		}
	}
	for at := from; at < to; at++ {
		if a.begun[at] == nil {
			one := &early{done: make(chan struct{}), got: map[string]answered{}}
			a.begun[at] = one
			a.all.Go(func() { a.read(one, a.pieces[at]) })
		}
	}
	return a.begun[from]
}

// usualEntry is more than the entry of a piece has that is one object, in bytes. A larger one is read when it is its turn.
const usualEntry = 16 << 10

// read reads the entry of a piece and the first object that it names: most have no other.
func (a *ahead) read(one *early, p Piece) {
	defer close(one.done)
	text, is := a.fetch(one, p.Name(), usualEntry)
	if !is {
		return
	}
	e, err := a.shelf.Open(text, p)
	if err != nil || len(e.Chunks) == 0 {
		return
	}
	a.fetch(one, e.chunk(0, e.Chunks[0].SHA256), e.Chunks[0].Size)
}

// fetch reads one object. One that is too large for its place is asked for when it is its turn.
func (a *ahead) fetch(one *early, name string, most int64) (data []byte, is bool) {
	data, tag, err := a.Store.Get(a.ctx, name, make([]byte, most))
	if errors.Is(err, store.ErrTooLarge) {
		return nil, false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.got[name] = answered{data, tag, err}
	return data, err == nil
}

// take waits until a piece was read, and gives what the store answered for an object of it, once.
func (e *early) take(ctx context.Context, name string) (got answered, had bool) {
	select {
	case <-e.done:
	case <-ctx.Done():
		return got, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	got, had = e.got[name]
	delete(e.got, name)
	return got, had
}
