package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"filippo.io/age"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// Reading says how a stream is brought back.
type Reading struct {
	Store   store.Store
	ID      string
	Stream  int // its number
	Of      manifest.Stream
	Keys    []age.Identity
	Workers int               // 0: Workers
	Pace    *Pace             // of the objects that are fetched
	Doing   func(bytes int64) // told of the bytes of each chunk that was passed on; nil for nobody
	// For those who only want to know whether it would come back: nothing is passed on then.
	Only   func(chunk int64) bool                         // which chunks are read
	Seen   func(chunk int64, listed manifest.Chunk) error // told of each that is listed, before it is read; may be nil
	Sealed bool                                           // without keys: what is read is compared with its hash, and not opened
	// Object is given each object that was read and is what was sent and listed, by several goroutines; it is good until
	// that returns. nil for nobody.
	Object func(ctx context.Context, chunk int64, listed manifest.Chunk, object []byte) error
}

// piece is a chunk on its way.
type piece struct {
	n     int64
	of    manifest.Chunk
	plain []byte
	err   error
	done  chan struct{}
}

// Read brings a stream back and writes it to out. What it writes is the beginning of the stream, and was
// checked; with an error it is not all of it.
func Read(ctx context.Context, o Reading, out io.Writer) error {
	if o.Workers == 0 {
		o.Workers = Workers
	}
	if o.Sealed && o.Only == nil {
		return errors.New("read a stream: without keys nothing can be passed on")
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	r := &reader{o: o, free: make(chan []byte, o.Workers+2), work: make(chan *piece), order: make(chan *piece, o.Workers+2)}
	for range cap(r.free) {
		r.free <- nil
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer end() // before the wait
	for range o.Workers {
		if o.Sealed {
			all.Go(func() { r.worker(ctx, nil) })
			continue
		}
		opener, err := chunk.NewOpener(o.Keys)
		if err != nil {
			return err
		}
		all.Go(func() {
			defer opener.Close()
			r.worker(ctx, opener.Open)
		})
	}
	failed := make(chan error, 1)
	all.Go(func() { failed <- r.plan(ctx) })
	if err := r.pass(ctx, out); err != nil {
		return fmt.Errorf("read stream %d of backup %s: %w", o.Stream, o.ID, err)
	}
	if err := <-failed; err != nil {
		return fmt.Errorf("read stream %d of backup %s: %w", o.Stream, o.ID, err)
	}
	return nil
}

// opens gives what is in an object; nil where it is not opened.
type opens func(object, into []byte, size int64) ([]byte, error)

type reader struct {
	o     Reading
	free  chan []byte
	work  chan *piece // what a worker fetches
	order chan *piece // the same, as they are passed on
}

// plan hands the chunks out in their order.
func (r *reader) plan(ctx context.Context) error {
	defer close(r.order)
	defer close(r.work)
	n := int64(0)
	for i := range r.o.Of.Parts {
		chunks, err := r.part(ctx, i)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if r.o.Seen != nil {
				if err := r.o.Seen(n, c); err != nil {
					return err
				}
			}
			if r.o.Only == nil || r.o.Only(n) {
				if err := r.hand(ctx, &piece{n: n, of: c, done: make(chan struct{})}); err != nil {
					return err
				}
			}
			n++
		}
	}
	return nil
}

func (r *reader) hand(ctx context.Context, p *piece) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case p.plain = <-r.free:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r.order <- p:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r.work <- p:
		return nil
	}
}

func (r *reader) part(ctx context.Context, i int) ([]manifest.Chunk, error) {
	text, _, err := r.o.Store.Get(ctx, manifest.PartName(r.o.ID, r.o.Stream, i), make([]byte, manifest.MaxPart))
	if err != nil {
		return nil, err
	}
	return r.o.Of.ReadPart(i, text)
}

func (r *reader) worker(ctx context.Context, open opens) {
	object := make([]byte, 0)
	for p := range r.work {
		if int64(cap(object)) < p.of.Size {
			object = make([]byte, p.of.Size)
		}
		p.plain, p.err = r.fetch(ctx, open, p, object[:p.of.Size])
		close(p.done)
	}
}

// tries is how often an object is asked for that arrives as another: the line may have done it.
const tries = 3

// Fetch reads an object into a buffer of its size, and sees that it is what was sent.
func Fetch(ctx context.Context, s store.Store, name string, of manifest.Chunk, into []byte) (object []byte, err error) {
	for range tries {
		object, _, err = s.Get(ctx, name, into)
		if errors.Is(err, store.ErrTooLarge) {
			err = fmt.Errorf("%w: it should have %d bytes", err, of.Size)
		}
		if err != nil {
			return nil, err
		}
		if err = of.Check(object); err == nil {
			return object, nil
		}
	}
	return nil, err
}

// fetch reads a chunk.
func (r *reader) fetch(ctx context.Context, open opens, p *piece, object []byte) (plain []byte, err error) {
	err = r.o.Pace.Wait(ctx, int(p.of.Size))
	var got []byte
	if err == nil {
		got, err = Fetch(ctx, r.o.Store, manifest.ChunkName(r.o.ID, r.o.Stream, p.n), p.of, object)
	}
	if err == nil && open != nil {
		if int64(cap(p.plain)) < p.of.Plain {
			p.plain = make([]byte, r.o.Of.Chunk)
		}
		plain, err = open(got, p.plain, p.of.Plain)
	}
	if err == nil && r.o.Object != nil {
		err = r.o.Object(ctx, p.n, p.of, got)
	}
	if err != nil {
		return nil, fmt.Errorf("chunk %d: %w", p.n, err)
	}
	return plain, nil
}

// pass writes what has come, in the order of the stream.
func (r *reader) pass(ctx context.Context, out io.Writer) error {
	for p := range r.order {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
		}
		if p.err != nil {
			return p.err
		}
		if r.o.Only == nil {
			if _, err := out.Write(p.plain); err != nil {
				return fmt.Errorf("pass it on: %w", err)
			}
		}
		if r.o.Doing != nil {
			r.o.Doing(p.of.Plain)
		}
		r.free <- p.plain[:0]
	}
	return nil
}
