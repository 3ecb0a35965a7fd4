package stream

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"filippo.io/age"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// Sent is a chunk that a store has.
type Sent struct {
	Stream int            `json:"stream"`
	Chunk  int64          `json:"chunk"`
	Mark   string         `json:"mark"` // keyed hash of what is in it; without the key it tells nothing. "" where nobody knows what is there
	Of     manifest.Chunk `json:"of"`
}

// Memory is what of a backup was sent already, so that a run that was killed goes on: what a stream
// holds is read again, and only what is not there, or is another, is sent.
type Memory interface {
	// Sent gives what was sent as a chunk of a stream.
	Sent(stream int, chunk int64) (Sent, bool)
	// Note keeps that a chunk was sent. It is called by several goroutines.
	Note(ctx context.Context, s Sent) error
}

// Keeper keeps objects: a store, or several at once.
type Keeper interface {
	Put(ctx context.Context, name string, data []byte, o store.Put) (tag string, err error)
}

// Writing says how a stream is sent.
type Writing struct {
	Store   Keeper
	ID      string // of the backup
	Stream  int    // its number
	To      []age.Recipient
	Key     []byte // of the marks: random, and the same for all runs of one backup
	Memory  Memory
	Chunk   int // bytes; 0: chunk.Max
	Workers int // 0: Workers
	Pace    *Pace
	Doing   func(of manifest.Chunk, sent bool) // told of each chunk that is there, and whether this run has sent it; nil for nobody
	Put     store.Put                          // how objects are kept: locked until when
}

// Writer sends what is written to it. It is written to by one goroutine. Finish must be called.
type Writer struct {
	o      Writing
	marks  cipher.AEAD
	ctx    context.Context
	end    context.CancelCauseFunc
	free   chan []byte
	work   chan job
	all    sync.WaitGroup
	buffer []byte
	n      int64 // of the chunk that is filled
	bytes  int64

	mu     sync.Mutex
	chunks map[int64]manifest.Chunk
}

type job struct {
	n     int64
	plain []byte
}

// NewWriter begins a stream.
func NewWriter(ctx context.Context, o Writing) (*Writer, error) {
	if o.Chunk == 0 {
		o.Chunk = chunk.Max
	}
	if o.Workers == 0 {
		o.Workers = Workers
	}
	if o.Chunk < 1 || o.Chunk > chunk.Max || o.Workers < 1 || len(o.Key) == 0 {
		return nil, fmt.Errorf("send a stream in chunks of %d bytes by %d workers with a key of %d bytes", o.Chunk, o.Workers, len(o.Key))
	}
	marks, err := marker(o.Key)
	if err != nil {
		return nil, err
	}
	w := &Writer{o: o, marks: marks, work: make(chan job), free: make(chan []byte, o.Workers+1), chunks: map[int64]manifest.Chunk{}}
	w.ctx, w.end = context.WithCancelCause(ctx)
	for range cap(w.free) {
		w.free <- nil // made when it is needed: a small stream needs one
	}
	for range o.Workers {
		sealer, err := chunk.NewSealer(o.To)
		if err != nil {
			w.end(err)
			return nil, err
		}
		w.all.Go(func() { w.worker(sealer) })
	}
	return w, nil
}

// Write implements io.Writer. Its error is that of whatever went wrong with a chunk before.
func (w *Writer) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if w.buffer == nil {
			if err := w.take(); err != nil {
				return n, err
			}
		}
		some := min(len(p)-n, w.o.Chunk-len(w.buffer))
		w.buffer = append(w.buffer, p[n:n+some]...)
		n += some
		w.bytes += int64(some)
		if len(w.buffer) == w.o.Chunk {
			if err := w.give(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// take waits for a buffer.
func (w *Writer) take() error {
	select {
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	case b := <-w.free:
		if b == nil {
			b = make([]byte, 0, w.o.Chunk)
		}
		w.buffer = b[:0]
		return nil
	}
}

func (w *Writer) give() error {
	select {
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	case w.work <- job{w.n, w.buffer}:
		w.n, w.buffer = w.n+1, nil
		return nil
	}
}

func (w *Writer) worker(s *chunk.Sealer) {
	for {
		select {
		case <-w.ctx.Done():
			return
		case j, more := <-w.work:
			if !more {
				return
			}
			if err := w.chunk(s, j); err != nil {
				w.end(fmt.Errorf("send chunk %d of stream %d: %w", j.n, w.o.Stream, err))
				return
			}
			w.free <- j.plain[:0]
		}
	}
}

// chunk sends one, unless it was sent before.
func (w *Writer) chunk(s *chunk.Sealer, j job) error {
	mark := w.mark(j)
	was, is := w.o.Memory.Sent(w.o.Stream, j.n)
	if is && was.Mark == mark && was.Of.Plain == int64(len(j.plain)) {
		w.done(j.n, was.Of, false)
		return nil
	}
	if is && was.Mark != "" { // it is about to be replaced: a run that goes on after this one died must not take it for what is there
		if err := w.o.Memory.Note(w.ctx, Sent{Stream: w.o.Stream, Chunk: j.n}); err != nil {
			return err
		}
	}
	object, err := s.Seal(j.plain)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(object)
	made := manifest.Chunk{Plain: int64(len(j.plain)), Size: int64(len(object)), SHA256: hex.EncodeToString(sum[:])}
	if err = w.o.Pace.Wait(w.ctx, len(object)); err != nil {
		return err
	}
	put := w.o.Put
	put.SHA256 = made.SHA256
	if _, err = w.o.Store.Put(w.ctx, manifest.ChunkName(w.o.ID, w.o.Stream, j.n), object, put); err == nil {
		err = w.o.Memory.Note(w.ctx, Sent{Stream: w.o.Stream, Chunk: j.n, Mark: mark, Of: made})
	}
	if err == nil {
		w.done(j.n, made, true)
	}
	return err
}

// marker makes marks: GMAC, which compares as well as HMAC where nobody knows the key, and costs a tenth of it.
// It is made of every byte of a backup.
func marker(key []byte) (cipher.AEAD, error) {
	own := sha256.Sum256(key)
	block, err := aes.NewCipher(own[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// mark is a hash of what a chunk is and holds, that only who has the key can compare.
func (w *Writer) mark(j job) string {
	place := make([]byte, w.marks.NonceSize())
	binary.BigEndian.PutUint32(place, uint32(w.o.Stream))
	binary.BigEndian.PutUint64(place[4:], uint64(j.n))
	return hex.EncodeToString(w.marks.Seal(nil, place, nil, j.plain))
}

func (w *Writer) done(n int64, c manifest.Chunk, sent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chunks[n] = c
	if w.o.Doing != nil {
		w.o.Doing(c, sent)
	}
}

// Finish sends what is left, and gives the stream as a manifest has it. failed is what went wrong with who
// wrote: then what was sent stays, to go on with, and the stream does not exist.
func (w *Writer) Finish(failed error) (manifest.Stream, error) {
	if failed == nil && len(w.buffer) > 0 {
		failed = w.give()
	}
	if failed != nil {
		w.end(failed)
	}
	close(w.work)
	w.all.Wait()
	if err := context.Cause(w.ctx); err != nil {
		return manifest.Stream{}, err
	}
	defer w.end(nil)
	return w.list()
}

// list sends the lists of chunks.
func (w *Writer) list() (manifest.Stream, error) {
	s := manifest.Stream{Bytes: w.bytes, Chunk: int64(w.o.Chunk)}
	all := make([]manifest.Chunk, w.n)
	for n := range all {
		c, is := w.chunks[int64(n)]
		if !is {
			return s, errors.New("a chunk was lost on its way")
		}
		all[n] = c
	}
	for some := range slices.Chunk(all, manifest.PerPart) {
		text, part, err := manifest.WritePart(some)
		if err == nil {
			_, err = w.o.Store.Put(w.ctx, manifest.PartName(w.o.ID, w.o.Stream, len(s.Parts)), text, w.o.Put)
		}
		if err != nil {
			return s, fmt.Errorf("list the chunks of stream %d: %w", w.o.Stream, err)
		}
		s.Parts = append(s.Parts, part)
	}
	return s, nil
}
