package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"time"
)

// volumeRecords is how long a book gets: 1 MiB or so. A lab that runs for
// weeks makes more things than one file that is read whole can hold.
const volumeRecords = 4000

// turn goes on in a new file that holds only what is still there. A lab that
// dies in between leaves two books of the same things, of which the second to
// be swept finds none.
func (b *Book) turn(ctx context.Context) error {
	b.volume++
	old, oldUnlock := b.file, b.unlock
	file := path.Join(b.books.Directory, fmt.Sprintf("%s~%d%s", b.pages.begin.Run, b.volume, ending))
	next, text, err := b.pages.abridged()
	if err != nil {
		return err
	}
	release, err := b.books.doorway(ctx)
	if err != nil {
		return err
	}
	defer release()
	unlock, err := b.books.Do.Lock(ctx, file)
	if err != nil {
		return err
	}
	if err := b.books.Do.Append(ctx, file, text); err != nil {
		undo := b.books.Do.Remove(ctx, file)
		unlock()
		return errors.Join(fmt.Errorf("keep the book of what is made: %w", err), undo)
	}
	b.file, b.unlock, b.pages = file, unlock, next
	defer oldUnlock()
	return b.books.Do.Remove(ctx, old)
}

// abridged makes a book of what is not gone.
func (p *pages) abridged() (*pages, []byte, error) {
	next := &pages{}
	var out bytes.Buffer
	add := func(at time.Time, kind string, body any) error {
		text, err := next.log.Append(at, kind, body)
		if err != nil {
			return err
		}
		out.Write(text)
		return next.take(next.log.Records[len(next.log.Records)-1])
	}
	err := add(time.Now(), kindBegin, p.begin)
	for _, e := range p.entries {
		if err != nil || e.Gone {
			continue
		}
		err = add(e.At, kindIntent, e.Thing)
		if err == nil && e.Whole {
			err = add(e.At, kindMade, result{N: len(next.log.Records), Thing: &e.Thing})
		}
	}
	return next, out.Bytes(), err
}

// runOf names the run of a book: as it says, or as its file is called when it
// says nothing yet.
func (p *pages) runOf(file string) string {
	if p.begun {
		return p.begin.Run
	}
	base := path.Base(file)
	return base[:len(base)-len(ending)]
}
