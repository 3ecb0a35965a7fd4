package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// distant is a store whose answers take some time. It counts how many are waited for at once, and how often each object is asked for.
type distant struct {
	store.Store
	takes    time.Duration
	mu       sync.Mutex
	now, top int
	asked    map[string]int
}

func (d *distant) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	d.mu.Lock()
	d.now++
	d.top = max(d.top, d.now)
	d.asked[name]++
	d.mu.Unlock()
	defer func() { d.mu.Lock(); d.now--; d.mu.Unlock() }()
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	return d.Store.Get(ctx, name, into)
}

// log is a world whose archive has some pieces, and what is in them.
func log(t *testing.T, sizes ...int) (w *world, d *distant, all []Piece, texts [][]byte) {
	t.Helper()
	w = newWorld(t)
	for i, n := range sizes {
		p := piece(n)
		p.File = fmt.Sprintf("%08d", i)
		text := noise(t, n)
		if _, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		all, texts = append(all, p), append(texts, text)
	}
	d = &distant{Store: w.Shelf.Store, takes: 5 * time.Millisecond, asked: map[string]int{}}
	w.Shelf.Store = d
	return w, d, all, texts
}

// inOrder reads pieces one after the other.
func inOrder(t *testing.T, s Shelf, all []Piece) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	for _, p := range all {
		e, err := s.Entry(t.Context(), p)
		if err == nil {
			err = s.Read(t.Context(), e, &out)
		}
		if err != nil {
			return out.Bytes(), err
		}
	}
	return out.Bytes(), nil
}

// Pieces are read as they lie, in their order, several at once, and each object once; also those that have none, or several.
func TestAhead(t *testing.T) {
	w, d, all, texts := log(t, 1, small, 0, small+1, 3*small, 5, 6, 7, 8, 9, 10, small)
	for _, workers := range []int{1, 4, 100} {
		d.top, d.asked = 0, map[string]int{}
		w.Workers = workers
		var got []byte
		var err error
		synctest.Test(t, func(t *testing.T) { // or on a busy machine the first has come when the last is asked for
			s, end := w.Ahead(t.Context(), all)
			got, err = inOrder(t, s, all)
			end()
		})
		if err != nil || !bytes.Equal(got, bytes.Join(texts, nil)) {
			t.Errorf("%d at once: %d bytes, %v", workers, len(got), err)
		}
		if d.top > workers || d.top < min(workers, 4) {
			t.Errorf("%d at once were to be waited for, and %d were", workers, d.top)
		}
		for name, n := range d.asked {
			if n > 1 {
				t.Errorf("%d at once: %s is asked for %d times", workers, name, n)
			}
		}
	}
}

// Who leaves pieces out, or begins anew, gets what he asks for all the same.
func TestAheadInAnotherOrder(t *testing.T) {
	w, _, all, texts := log(t, 10, 20, 30, 40, 50, 60, 70, 80, 90)
	s, end := w.Ahead(t.Context(), all[:8])
	defer end()
	for _, order := range [][]int{{0, 2, 7}, {8, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {5, 5, 4}} {
		var want []byte
		var pieces []Piece
		for _, i := range order {
			want, pieces = append(want, texts[i]...), append(pieces, all[i])
		}
		if got, err := inOrder(t, s, pieces); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, %v", order, len(got), err)
		}
	}
}

// What is wrong with an object is told when it is its turn, as it is without reading ahead; and nothing behind it is passed on.
func TestAheadOfWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, w *world, p Piece, e Entry)
		want error
	}{
		"an object is gone": {func(t *testing.T, w *world, _ Piece, e Entry) {
			must(t, w.Keeper.Store.Delete(t.Context(), e.chunk(0, e.Chunks[0].SHA256)))
		}, store.ErrNotFound},
		"the entry is gone": {func(t *testing.T, w *world, p Piece, _ Entry) { must(t, w.Keeper.Store.Delete(t.Context(), p.Name())) }, store.ErrNotFound},
		"the entry is another's": {func(t *testing.T, w *world, p Piece, _ Entry) {
			_, err := w.Keeper.Store.Put(t.Context(), p.Name(), []byte("no entry"), store.Put{})
			must(t, err)
		}, ErrUnbelieved},
		"an object was changed": {func(t *testing.T, w *world, _ Piece, e Entry) {
			_, err := w.Keeper.Store.Put(t.Context(), e.chunk(0, e.Chunks[0].SHA256), make([]byte, e.Chunks[0].Size), store.Put{})
			must(t, err)
		}, nil},
	} {
		w, _, all, texts := log(t, 10, 20, 30, 40)
		e, err := w.Entry(t.Context(), all[2])
		must(t, err)
		c.harm(t, w, all[2], e)
		s, end := w.Ahead(t.Context(), all)
		got, err := inOrder(t, s, all)
		end()
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !bytes.Equal(got, bytes.Join(texts[:2], nil)) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if _, plain := inOrder(t, w.Shelf, all); plain == nil || plain.Error() != err.Error() {
			t.Errorf("%s: %v, and without reading ahead %v", name, err, plain)
		}
	}
}

// What is on its way when nobody wants more is let go of.
func TestAheadEnds(t *testing.T) {
	w, d, all, _ := log(t, 10, 20, 30, 40)
	s, end := w.Ahead(t.Context(), all)
	d.takes = time.Hour
	read := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, err := s.Entry(ctx, all[0])
		read <- err
	}()
	stop()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	end()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now != 0 {
		t.Errorf("%d are waited for still", d.now)
	}
}

// What is read, ahead or not, keeps to the pace that is asked for.
func TestAheadAtAPace(t *testing.T) {
	w, _, all, texts := log(t, small, small, small, small)
	w.Pace = &stream.Pace{PerSecond: 4 * small}
	s, end := w.Ahead(t.Context(), all)
	defer end()
	began := time.Now()
	got, err := inOrder(t, s, all)
	if took := time.Since(began); err != nil || !bytes.Equal(got, bytes.Join(texts, nil)) || took < 700*time.Millisecond { // the first waits for none
		t.Errorf("%d bytes in %s, %v", len(got), took, err)
	}
}
