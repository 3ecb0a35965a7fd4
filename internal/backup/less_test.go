package backup

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// around is a store of whose chunks somebody decides.
type around struct {
	store.Store
	chunk func(number string, put func() error) error
}

func (s *around) Put(ctx context.Context, name string, data []byte, o store.Put) (tag string, err error) {
	put := func() error {
		tag, err = s.Store.Put(ctx, name, data, o)
		return err
	}
	if number, is := strings.CutSuffix(path.Base(name), ".zst.age"); is {
		return tag, s.chunk(number, put)
	}
	return tag, put()
}

// TestLeftOut backs up to two places in three runs. The first is killed when the second place alone has three objects. The second run
// loses that place, seals these objects anew, and is killed too. In the third both are there again: the second place has an object of
// the right size in the place of each that it did not get. It is left out all the same, and a copy sees which of its objects are others.
func TestLeftOut(t *testing.T) {
	w := newWorld(t)
	first := w.Store
	second, _ := other(t)
	run := func(ctx context.Context, a, b func(number string, put func() error) error) (Result, error) {
		w.Store, w.Also = &around{first, a}, []store.Store{&around{second, b}}
		defer func() { w.Store, w.Also = first, nil }()
		return w.Run(ctx, command("seq 120000")) // twelve chunks
	}
	killed := func(from string, met *sync.WaitGroup, done func(), others func(number string, put func() error) error) {
		t.Helper()
		met.Add(w.Workers)
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		_, err := run(ctx, func(number string, put func() error) error {
			if number < from {
				return put()
			}
			done()
			met.Wait()
			kill()
			return ctx.Err()
		}, others)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	var got, met sync.WaitGroup
	killed("000000005", &got, func() {}, func(number string, put func() error) error {
		err := put()
		if number >= "000000005" {
			got.Done()
		}
		return err
	})
	killed("000000008", &met, met.Done, func(string, func() error) error { return store.ErrFull })
	well := func(_ string, put func() error) error { return put() }
	res, err := run(t.Context(), well, well)
	if err != nil || !res.GoesOn || len(res.Lost) != 1 || !errors.Is(res.Lost[0].Err, errLess) {
		t.Fatalf("%+v, %v", res, err)
	}
	if all, err := w.in(second).vault(t).List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("it is taken for a backup: %+v, %v", all, err)
	}
	done, err := Copying{From: w.vault(t), To: second, Now: w.Now}.Run(t.Context(), []manifest.Manifest{res.Manifest})
	if err != nil || done[0].Sent == 0 || done[0].Sent*2 > res.Streams[0].Bytes {
		t.Errorf("%+v, %v", done, err)
	}
	for _, in := range []store.Store{first, second} {
		if got, err := w.in(in).restore(t, res.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n120000\n")) {
			t.Errorf("%s: %d bytes, %v", in.URL(), len(got), err)
		}
	}
}

// Of those that an earlier run left out none is left: the backup begins anew, in those that are there.
func TestOnlyTheLeftOutIsThere(t *testing.T) {
	w := newWorld(t)
	w.Workers = 1
	first := w.Store
	second, _ := other(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	w.Store = &around{first, func(number string, put func() error) error {
		if number == "000000004" {
			kill()
			return ctx.Err()
		}
		return put()
	}}
	w.Also = []store.Store{&around{second, func(number string, put func() error) error {
		if number == "000000002" {
			return store.ErrFull
		}
		return put()
	}}}
	if _, err := w.Run(ctx, command("seq 60000")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.Store, w.Also = down{first}, []store.Store{second}
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil || res.GoesOn || len(res.Lost) != 1 || !errors.Is(res.Lost[0].Err, errDown) {
		t.Fatalf("%+v, %v", res, err)
	}
	if got, err := w.in(second).restore(t, res.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// locking is a store that remembers until when it is to keep an object.
type locking struct {
	store.Store
	mu    sync.Mutex
	until map[string]time.Time
	gone  string // an object that is asked for and not there
}

func newLocking(s store.Store) *locking { return &locking{Store: s, until: map[string]time.Time{}} }

func (l *locking) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	until := o.Until
	o.Until = time.Time{}
	tag, err := l.Store.Put(ctx, name, data, o)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.until[name] = until
	}
	return tag, err
}

func (l *locking) Locks(context.Context) (store.Locks, error) { return store.Locks{Can: true}, nil }

func (l *locking) Until(_ context.Context, name string) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == l.gone {
		return time.Time{}, store.ErrNotFound
	}
	return l.until[name], nil
}

func (l *locking) Lock(_ context.Context, name string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[name] = until
	return nil
}

// open gives the objects of a backup that are not locked for some time yet.
func (l *locking) open(m manifest.Manifest, least time.Time) (names []string) {
	for name, until := range l.until {
		if m.Names(name) && until.Before(least) {
			names = append(names, name)
		}
	}
	return names
}

// A copy locks what was there as a whole, with the manifest, as it locks what it sends; what is locked as long already stays as it is.
func TestLocksWhatIsThere(t *testing.T) {
	w := newWorld(t)
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := other(t)
	to := newLocking(plain)
	c := Copying{From: w.vault(t), To: to, Now: time.Now}
	for i, lock := range []time.Duration{0, 48 * time.Hour, 36 * time.Hour} {
		c.Lock = lock
		done, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest})
		if err != nil || done[0].There != (i > 0) || (i > 0) != (done[0].Sent == 0) {
			t.Fatalf("%s: %+v, %v", lock, done, err)
		}
		least := time.Now().Add(47 * time.Hour)
		if open := to.open(res.Manifest, least); (len(open) > 0) != (i == 0) {
			t.Errorf("%s: not locked, or not so long: %v", lock, open)
		}
	}
	if err := plain.Delete(t.Context(), manifest.ChunkName(res.ID, 0, 1)); err != nil {
		t.Fatal(err)
	}
	to.gone, c.Lock = manifest.ChunkName(res.ID, 0, 1), 96*time.Hour
	if _, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest}); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), to.gone) {
		t.Errorf("an object of it is gone: %v", err)
	}
}

// What a run sent that was to lock nothing, or for less time, is sent again by one that is to lock it, and locked where it lies by a copy.
func TestLockedAsAsked(t *testing.T) {
	w := newWorld(t)
	w.Workers = 1
	at, to := newLocking(w.Store), newLocking(nil)
	w.Store = dyingAfter(at, 4)
	if _, err := w.Run(t.Context(), command("seq 60000")); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	w.Store, w.Lock = at, 48*time.Hour
	least := time.Now().Add(w.Lock)
	res, err := w.Run(t.Context(), command("seq 60000"))
	if open := at.open(res.Manifest, least); err != nil || len(open) > 0 {
		t.Errorf("not locked, or not so long: %v, %v", open, err)
	}
	second, _ := other(t)
	c := Copying{From: w.vault(t), To: to, Workers: 1, Now: w.Now}
	for i, lock := range []time.Duration{0, time.Hour, w.Lock} {
		to.Store, c.Lock = goneAfter(second, []int{7, 4, 4}[i]), lock // three chunks each
		_, err = c.Run(t.Context(), []manifest.Manifest{res.Manifest})
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("locked for %s: %v", lock, err)
		}
	}
	to.Store = second
	done, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest})
	if open := to.open(res.Manifest, least); err != nil || len(open) > 0 || done[0].Sent >= res.Sent {
		t.Errorf("the copy is not locked, or not so long: %v; %+v, %v", open, done, err)
	}
}
