package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"time"

	"plumb/internal/host"
)

// Book is the open book of one run, in which it writes down what it makes. It may be
// used by several goroutines.
type Book struct {
	books  Books // it is one of
	file   string
	unlock func()

	mu     sync.Mutex
	pages  *pages
	making int // things that are just being made
	volume int // files before this one
	most   int // records in one file
	closed bool
}

// Open makes the book of a new run, locked for as long as the process lives.
func (b Books) Open(ctx context.Context, run string) (*Book, error) {
	if run == "" || strings.ContainsAny(run, "/*?[\\\x00\n") || strings.HasPrefix(run, ".") {
		return nil, fmt.Errorf("open a book for the run %q: that is not a valid file name", run)
	}
	book := &Book{books: b, file: path.Join(b.Directory, run+ending), pages: &pages{}, most: volumeRecords}
	// A sweep removes empty books: it must not see ours before it says whose it is.
	release, err := b.doorway(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if book.unlock, err = b.Do.Lock(ctx, book.file); err != nil {
		if errors.Is(err, host.ErrLocked) {
			err = fmt.Errorf("the run %s: %w", run, ErrLive)
		}
		return nil, err
	}
	text, err := b.Do.Raw(ctx, book.file)
	if err == nil && len(text) > 0 {
		err = fmt.Errorf("open %s: a run of that name left it", book.file)
	}
	if err == nil {
		err = book.note(ctx, kindBegin, begin{Version: Version, Run: run, Boot: Boot(ctx, b.Do)})
	}
	if err != nil {
		book.unlock()
		return nil, err
	}
	return book, nil
}

func (b *Book) note(ctx context.Context, kind string, body any) error {
	return b.pages.note(ctx, b.books.Do, b.file, kind, body)
}

// Make writes down that a thing is going to be made, makes it, and writes
// down what was made: make may complete name and proof (the number of a loop
// device is known only then). When make fails, the thing is taken away as far as it
// came about. A name that is taken already is refused: what is there is not ours.
func (b *Book) Make(ctx context.Context, t Thing, make func(t *Thing) error) (Thing, error) {
	t.Proof = maps.Clone(t.Proof)
	n, err := b.intend(ctx, t)
	if err != nil {
		return t, err
	}
	t.Proof = maps.Clone(t.Proof)
	if t.Proof == nil {
		t.Proof = map[string]string{}
	}
	err = make(&t)
	after := context.WithoutCancel(ctx) // what came about must go, and be known, all the same
	if err == nil {
		err = b.books.Kinds.prove(after, b.books.Do, &t)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.making--
	if err == nil {
		if err = b.note(after, kindMade, result{N: n, Thing: &t}); err == nil {
			return t, nil
		}
	}
	e := Entry{N: n, At: time.Now(), Thing: t}
	for _, had := range b.pages.entries {
		if had.N == n {
			e.At = had.At
		}
	}
	if undo := b.away(after, e); undo != nil && !errors.Is(undo, ErrForeign) {
		err = errors.Join(err, undo)
	}
	return t, err
}

// Tree makes a directory that goes with all that is in it, and marks it as this run's.
func (b *Book) Tree(ctx context.Context, t Thing, perm fs.FileMode) error {
	b.mu.Lock()
	run := b.pages.begin.Run
	b.mu.Unlock()
	t.Kind = Tree
	_, err := b.Make(ctx, t, func(*Thing) error {
		if err := b.books.Do.MakeDir(ctx, t.Name, perm, -1, -1); err != nil {
			return err
		}
		return b.books.Do.Append(ctx, path.Join(t.Name, Marker), []byte(run+"\n"))
	})
	return err
}

// intend writes the intent down.
func (b *Book) intend(ctx context.Context, t Thing) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, fmt.Errorf("make %s %s: the book is closed", t.Kind, t.Name)
	}
	k, ok := b.books.Kinds[t.Kind]
	if !ok {
		return 0, fmt.Errorf("make %s %s: the book knows no such kind", t.Kind, t.Name)
	}
	if k.Free != nil {
		if err := k.Free(ctx, b.books.Do, t); err != nil {
			return 0, fmt.Errorf("make %s %s: %w", t.Kind, t.Name, err)
		}
	}
	if len(b.pages.log.Records) >= b.most && b.making == 0 { // their intents have numbers of this file
		if err := b.turn(ctx); err != nil {
			return 0, err
		}
	}
	if err := b.note(ctx, kindIntent, t); err != nil {
		return 0, err
	}
	b.making++
	return len(b.pages.log.Records), nil
}

// Remove takes a thing away and notes it. One that has gone already is fine;
// one that is not ours any more is ErrForeign.
func (b *Book) Remove(ctx context.Context, t Thing) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.pages.find(t)
	if !ok {
		return fmt.Errorf("take %s %s away: it is not in the book", t.Kind, t.Name)
	}
	if e.Gone {
		return nil
	}
	return b.away(ctx, e)
}

// away takes one thing away and notes it.
func (b *Book) away(ctx context.Context, e Entry) error {
	return b.books.settle(ctx, b.pages.holder(b.books.Do, !b.closed), e, b.note)
}

// settle takes a thing away and notes what came of it. One that could not be
// taken away stays in the book.
func (b Books) settle(ctx context.Context, h Holder, e Entry, note noting) error {
	err := b.Kinds.takeAway(ctx, h, e)
	switch {
	case err == nil:
		return note(ctx, kindGone, result{N: e.N})
	case errors.Is(err, ErrForeign):
		return errors.Join(err, note(ctx, kindLeft, result{N: e.N, Why: err.Error()}))
	}
	return err
}

// Close takes away all that is left and not meant to live, limits and processes
// first, then newest first, and removes the book. When something could not be
// taken away, the book stays for a sweep; and it stays for what lives.
func (b *Book) Close(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	var all []error
	b.pages.clear(func(e Entry) error { return b.away(ctx, e) }, func(_ Entry, err error) { all = append(all, err) })
	if len(b.pages.open()) == 0 {
		all = append(all, b.books.Do.Remove(ctx, b.file))
	}
	b.closed = true
	b.unlock()
	return errors.Join(all...)
}

// Boot names this life of the kernel, "" when unknown.
func Boot(ctx context.Context, h host.Reader) string {
	text, err := h.ReadFile(ctx, "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Missing tells whether there is nothing under a name, not even a link that
// leads nowhere.
func Missing(ctx context.Context, h host.Reader, name string) bool {
	_, err := h.Readlink(ctx, name)
	return errors.Is(err, fs.ErrNotExist)
}
