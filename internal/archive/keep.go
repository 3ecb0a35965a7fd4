package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// ErrOther is the error of a file that was kept before with other bytes.
var ErrOther = errors.New("it was archived before, with other bytes")

// Keep keeps a piece. When it returns without an error, the piece is in the store. One that was kept before
// with the same bytes is no error; with others it is ErrOther. How many bytes were kept is given back: none that were
// there already.
func (k *Keeper) Keep(ctx context.Context, e Entry, plain io.Reader) (n int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("archive %s: %w", e.File, err)
		}
	}()
	if err := e.Piece.check(); err != nil {
		return 0, err
	}
	there, err := k.there(ctx, e.Piece)
	if err != nil {
		return 0, err
	}
	e.Host, e.Plumb, e.Kept, e.Chunks = k.Host, k.Plumb, k.Now().UTC(), []manifest.Chunk{}
	read := &measured{r: io.LimitReader(plain, e.To-e.From), h: sha256.New()}
	if there == nil {
		err = k.send(ctx, &e, read)
	} else {
		_, err = io.Copy(io.Discard, read)
	}
	if err == nil && read.n != e.To-e.From {
		err = fmt.Errorf("%d bytes of it came, and it has %d", read.n, e.To-e.From)
	}
	if err != nil {
		return 0, err
	}
	if e.Mark, err = k.mark(read.h); err != nil {
		return 0, err
	}
	if there != nil {
		if err := same(*there, e); err != nil {
			return 0, err
		}
		return 0, hint.With(k.whole(ctx, *there), "remove "+there.Name()+" from the store, and the server's file is archived again")
	}
	if err := k.whole(ctx, e); err != nil {
		return 0, err
	}
	if k.Still != nil { // asked after the time in the entry: what a key signed before it was given up is believed
		if err := k.Still(ctx); err != nil {
			return 0, err
		}
	}
	return read.n, k.commit(ctx, e)
}

// whole is an error unless the store lists the objects of a piece: a server removes its file when this is archived.
func (k *Keeper) whole(ctx context.Context, e Entry) error {
	there, err := store.SizesOf(ctx, k.Store, e.stem()+"/")
	if err != nil {
		return err
	}
	for n, c := range e.Chunks {
		if err := there.Kept(e.chunk(n, c.SHA256), c.Size); err != nil {
			return err
		}
	}
	return nil
}

// there gives the entry of what was kept of a file from the same place on; nil for none. Only one Plumb writes below
// a prefix.
func (k *Keeper) there(ctx context.Context, p Piece) (e *Entry, err error) {
	shelf, err := k.Shelf()
	if err != nil {
		return nil, err
	}
	err = k.Store.List(ctx, p.Folder()+fmt.Sprintf("%016d-", p.From), func(i store.Info) error {
		if of, is := ofEntry(i.Name); is {
			got, err := shelf.Entry(ctx, of)
			if e = &got; errors.Is(err, ErrUnbelieved) {
				err = hint.With(err, "the key of this host was replaced since, or somebody else put it there: remove "+of.Name()+" from the store, and the server's file is archived in its place")
			}
			if err != nil {
				return fmt.Errorf("what was archived of it before cannot be compared: %w", err)
			}
		}
		return nil
	})
	return e, err
}

// send sends the objects.
func (k *Keeper) send(ctx context.Context, e *Entry, plain io.Reader) error {
	s, err := chunk.NewSealer(k.To)
	if err != nil {
		return err
	}
	buf := make([]byte, min(int64(cmp.Or(k.Chunk, chunk.Max)), e.To-e.From))
	for n := 0; len(buf) > 0; n++ {
		got, err := io.ReadFull(plain, buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		object, err := s.Seal(buf[:got])
		if err != nil {
			return err
		}
		sum := sha256.Sum256(object)
		c := manifest.Chunk{Plain: int64(got), Size: int64(len(object)), SHA256: hex.EncodeToString(sum[:])}
		if _, err := k.Store.Put(ctx, e.chunk(n, c.SHA256), object, store.Put{SHA256: c.SHA256, Until: k.until()}); err != nil {
			return err
		}
		e.Chunks = append(e.Chunks, c)
	}
	return nil
}

// until is how long an object that is written now may not be removed; the zero time where it may be at once.
func (k *Keeper) until() (at time.Time) {
	if k.Lock > 0 {
		at = k.Now().Add(k.Lock)
	}
	return at
}

// commit makes the piece exist.
func (k *Keeper) commit(ctx context.Context, e Entry) error {
	text, err := sign(e, k.Sign)
	if err != nil {
		return err
	}
	_, err = k.Store.Put(ctx, e.Name(), text, store.Put{New: true, Until: k.until()})
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	there, err := k.there(ctx, e.Piece) // of a try that was thought to have failed
	if err == nil && there == nil {
		err = errors.New("the store says that it has the entry, but does not list it")
	}
	if err != nil {
		return err
	}
	return same(*there, e)
}

func same(there, e Entry) error {
	if there.To == e.To && there.Mark == e.Mark {
		return nil
	}
	return hint.With(fmt.Errorf("%w: %d bytes at %s", ErrOther, there.To-there.From, units.Moment(there.Kept)),
		"two servers archive under one name, or one was reset to an earlier state: nothing was replaced. Give the other a prefix of its own")
}

// mark names bytes without telling what they are: nobody can try out what they might be without the key
// of this host. It signs the same in the same way.
func (k *Keeper) mark(h hash.Hash) (string, error) {
	signed, err := k.Sign.Sign([]byte("plumb archive mark\n" + hex.EncodeToString(h.Sum(nil))))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(signed)
	return hex.EncodeToString(sum[:16]), nil
}

// MarkOf is the mark of some bytes.
func (k *Keeper) MarkOf(b []byte) (string, error) {
	h := sha256.New()
	_, _ = h.Write(b)
	return k.mark(h)
}

// Shelf is the archive for this host itself, which believes what it signed.
func (k *Keeper) Shelf() (Shelf, error) {
	if k.Public == "" {
		return Shelf{}, errors.New("the public key of this host is not known")
	}
	v, err := note.NewVerifier(k.Public)
	return Shelf{Store: k.Store, Trust: []note.Verifier{v}}, err
}

// OwnShelf is Shelf, which also believes what this host signed with keys that it has given up.
func (k *Keeper) OwnShelf() (Shelf, error) {
	s, err := k.Shelf()
	s.Trust = append(s.Trust, k.Past...)
	return s, err
}

// Former tells whether a piece was kept by this host with a key that it has given up.
func (k *Keeper) Former(ctx context.Context, p Piece) bool {
	_, err := Shelf{Store: k.Store, Trust: k.Past}.Entry(ctx, p)
	return err == nil
}

// measured is what was read.
type measured struct {
	r io.Reader
	h hash.Hash
	n int64
}

// Read implements io.Reader.
func (m *measured) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	_, _ = m.h.Write(p[:n])
	m.n += int64(n)
	return n, err
}
