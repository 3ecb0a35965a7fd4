package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/store/dir"
)

const small = 64 << 10 // bytes of a chunk

// world is a host that archives to a directory.
type world struct {
	*Keeper
	Shelf
	at string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	at := t.TempDir()
	d, err := dir.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := note.GenerateKey(rand.Reader, "plumb-db1")
	if err != nil {
		t.Fatal(err)
	}
	sign, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return &world{&Keeper{Store: d, Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Host: "db1", Plumb: "test", Now: time.Now, Chunk: small},
		Shelf{Store: d, Trust: []note.Verifier{v}, Keys: []age.Identity{key}}, at}
}

func (w *world) read(t *testing.T, p Piece) ([]byte, error) {
	t.Helper()
	e, err := w.Entry(t.Context(), p)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = w.Read(t.Context(), e, &out)
	return out.Bytes(), err
}

func piece(n int) Piece { return Piece{Server: "s-1", Series: "wal", File: "0001", To: int64(n)} }

// noise does not pack, so that a torn or changed object is never the same.
func noise(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestThereAndBack(t *testing.T) {
	w := newWorld(t)
	for i, n := range []int{1, small, small + 1, 0} {
		p := piece(n)
		p.File = fmt.Sprint("f", i)
		text := noise(t, n)
		if got, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(text)); err != nil || got != int64(n) {
			t.Fatalf("%d bytes: %d, %v", n, got, err)
		}
		if got, err := w.read(t, p); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes came back as %d, %v", n, len(got), err)
		}
	}
	all, err := w.List(t.Context(), "s-1")
	if err != nil || len(all) != 4 {
		t.Errorf("%v, %v", all, err)
	}
}

// What is there is never replaced, and the same again is no error.
func TestNeverReplaced(t *testing.T) {
	w := newWorld(t)
	p := piece(1000)
	text := noise(t, 1000)
	keep := func(p Piece, text []byte) error {
		_, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(text))
		return err
	}
	if err := errors.Join(keep(p, text), keep(p, text)); err != nil {
		t.Fatal(err)
	}
	if err := keep(p, noise(t, 1000)); !errors.Is(err, ErrOther) {
		t.Errorf("other bytes: %v", err)
	}
	longer := p
	longer.To = 1001
	if err := keep(longer, append(text, 1)); !errors.Is(err, ErrOther) {
		t.Errorf("another length: %v", err)
	}
	if err := keep(piece(999), text); !errors.Is(err, ErrOther) {
		t.Errorf("cut short: %v", err)
	}
	if got, err := w.read(t, p); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	other := p
	other.File = "other"
	if err := keep(other, text[:999]); err == nil || !strings.Contains(err.Error(), "999 bytes of it came") {
		t.Errorf("too few bytes: %v", err)
	}
	if _, err := w.read(t, other); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part is taken for all: %v", err)
	}
}

// cut fails for good after some objects, as if the machine had died.
type cut struct {
	store.Store
	left int
}

var errDied = errors.New("died")

func (c *cut) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if c.left--; c.left < 0 {
		return "", errDied
	}
	return c.Store.Put(ctx, name, data, o)
}

// The machine dies before every object; afterwards the same is kept whole.
func TestDies(t *testing.T) {
	w := newWorld(t)
	plain := w.Keeper.Store
	for left := range 3 {
		p := piece(small + 100)
		p.File = fmt.Sprint("f", left)
		text := noise(t, int(p.To))
		w.Keeper.Store = &cut{plain, left}
		if _, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(text)); !errors.Is(err, errDied) {
			t.Fatalf("after %d objects: %v", left, err)
		}
		if _, err := w.Entry(t.Context(), p); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after %d objects it is there: %v", left, err)
		}
		w.Keeper.Store = plain
		if _, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := w.read(t, p); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

// forgetful is a store that says of some objects that it keeps them, and does not.
type forgetful struct {
	store.Store
	lose int
}

func (f *forgetful) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if f.lose--; f.lose >= 0 {
		return "tag", nil
	}
	return f.Store.Put(ctx, name, data, o)
}

// A server that is told that its file is archived removes it: it is told so when the store has all of it.
func TestNotKept(t *testing.T) {
	w := newWorld(t)
	p, text := piece(small+100), noise(t, small+100)
	keep := func() error {
		_, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(text))
		return err
	}
	plain := w.Keeper.Store
	w.Keeper.Store = &forgetful{plain, 1}
	if err := keep(); !errors.Is(err, store.ErrUnkept) {
		t.Errorf("it is archived: %v", err)
	}
	must(t, keep())
	if got, err := w.read(t, p); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	e, err := w.Entry(t.Context(), p)
	must(t, err)
	must(t, plain.Delete(t.Context(), e.chunk(1, e.Chunks[1].SHA256)))
	if err := keep(); !errors.Is(err, store.ErrUnkept) || !strings.Contains(hint.Of(err), e.Name()) {
		t.Errorf("an object of it is gone: %v, %s", err, hint.Of(err))
	}
	must(t, plain.Delete(t.Context(), e.Name()))
	must(t, keep())
}

// Who may write to the store can have nothing else restored: each byte that is changed is seen, and so is
// what is cut, missing or that of another piece.
func TestForged(t *testing.T) {
	w := newWorld(t)
	p, q := piece(3000), piece(3000)
	q.File = "0002"
	for _, one := range []Piece{p, q} {
		if _, err := w.Keep(t.Context(), Entry{Piece: one}, bytes.NewReader(noise(t, 3000))); err != nil {
			t.Fatal(err)
		}
	}
	var objects []string
	must(t, filepath.WalkDir(w.at, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(name, "/0001/") {
			objects = append(objects, name)
		}
		return err
	}))
	if len(objects) != 2 {
		t.Fatal(objects)
	}
	for _, name := range objects {
		was, err := os.ReadFile(name)
		must(t, err)
		wrong := [][]byte{was[:len(was)-1], append(bytes.Clone(was), 0), {}}
		for i := 0; i < len(was); i += 7 {
			b := bytes.Clone(was)
			b[i] ^= 1
			wrong = append(wrong, b)
		}
		other, err := os.ReadFile(strings.Replace(name, "/0001/", "/0002/", 1))
		if err == nil {
			wrong = append(wrong, other)
		}
		for i, b := range wrong {
			must(t, os.WriteFile(name, b, 0o600))
			if got, err := w.read(t, p); err == nil {
				t.Errorf("%s, change %d: %d bytes are passed on", filepath.Base(name), i, len(got))
			}
		}
		must(t, os.WriteFile(name, was, 0o600))
	}
	stranger := newWorld(t)
	stranger.Shelf.Store = w.Shelf.Store
	if _, err := stranger.read(t, p); err == nil || !strings.Contains(err.Error(), "nobody whom this host trusts") {
		t.Errorf("a stranger's: %v", err)
	}
	if _, err := w.read(t, p); err != nil {
		t.Error(err)
	}
}

// What somebody else put in the place of a piece that is still to come keeps that from being archived, and who is told that knows what to
// remove; then it is.
func TestForgedPlace(t *testing.T) {
	w, p := newWorld(t), piece(3)
	for what, text := range map[string][]byte{"by nobody": []byte("trust me"), "too much": make([]byte, MaxEntry+1)} {
		_, err := w.Keeper.Store.Put(t.Context(), p.Name(), text, store.Put{})
		must(t, err)
		if _, err := w.Keep(t.Context(), Entry{Piece: p}, strings.NewReader("log")); err == nil || !strings.Contains(err.Error(), p.Name()) || !strings.Contains(hint.Of(err), "remove "+p.Name()) {
			t.Errorf("%s: %v, hint: %s", what, err, hint.Of(err))
		}
	}
	must(t, w.Keeper.Store.Delete(t.Context(), p.Name()))
	_, err := w.Keep(t.Context(), Entry{Piece: p}, strings.NewReader("log"))
	must(t, err)
	if got, err := w.read(t, p); err != nil || string(got) != "log" {
		t.Errorf("%q, %v", got, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	for _, p := range []Piece{piece(1), {Server: "a", Series: "b", File: "c.000001", From: 4, To: 4}} {
		if got, is := ofEntry(p.Name()); !is || got != p {
			t.Errorf("%s is %+v", p.Name(), got)
		}
	}
	for _, name := range []string{"archive/a/b/c/0-1/entry", "archive/a/b/../0000000000000000-0000000000000001/entry", "backups/a/b/c/0000000000000000-0000000000000001/entry",
		"archive/a/b/c/0000000000000002-0000000000000001/entry", "archive/a/b/c/0000000000000000-0000000000000001/other"} {
		if p, is := ofEntry(name); is {
			t.Errorf("%s is %+v", name, p)
		}
	}
}

// over hands a file over a connection.
func over(t *testing.T, w *world, o Offer, text []byte, accept func(Offer, []byte) (Piece, error)) (handed, received error) {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan error, 1)
	go func() {
		_, _, err := w.Receive(t.Context(), b, time.Minute, accept)
		done <- errors.Join(err, b.Close())
	}()
	handed = HandOver(a, o, bytes.NewReader(text), time.Minute)
	_ = a.Close()
	return handed, <-done
}

func TestHandOver(t *testing.T) {
	w := newWorld(t)
	text := noise(t, 100_000)
	yes := func(o Offer, head []byte) (Piece, error) {
		if len(head) != headSize {
			t.Errorf("%d bytes are looked at", len(head))
		}
		return Piece{Server: "s", Series: "wal", File: o.File, To: o.Size}, nil
	}
	o := Offer{File: "f", Size: int64(len(text))}
	if handed, received := over(t, w, o, text, yes); handed != nil || received != nil {
		t.Fatalf("%v, %v", handed, received)
	}
	if got, err := w.read(t, Piece{Server: "s", Series: "wal", File: "f", To: o.Size}); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if handed, _ := over(t, w, o, noise(t, 100_000), yes); handed == nil || !strings.Contains(handed.Error(), "other bytes") {
		t.Errorf("other bytes: %v", handed)
	}
	no := func(Offer, []byte) (Piece, error) { return Piece{}, errors.New("not here") }
	if handed, received := over(t, w, o, text, no); handed == nil || received == nil || handed.Error() != "not here" {
		t.Errorf("refused: %v, %v", handed, received)
	}
	if handed, received := over(t, w, Offer{File: "g", Size: 200_000}, text, yes); handed == nil || received == nil {
		t.Errorf("cut short: %v, %v", handed, received)
	}
}

// A service that hangs is told from one that has nothing to do, and what failed is told until it goes well.
func TestStatus(t *testing.T) {
	at := t.TempDir()
	now := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	b := &Board{Do: hosttest.LiveDoer(t), File: StatusFile(at, "main"), Now: func() time.Time { return now }}
	must(t, b.Begin(t.Context(), Status{Name: "main", PID: 1, To: "file:///x"}))
	trouble := func() string {
		all, err := Statuses(t.Context(), b.Do, at)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		return strings.Join(all[0].Trouble(now, time.Minute), "\n")
	}
	if got := trouble(); got != "" {
		t.Error(got)
	}
	must(t, b.Tell(t.Context(), "wal", func(s *Source) { s.Ill(errors.New("no bucket"), now) }))
	must(t, b.Tell(t.Context(), "wal", func(s *Source) { s.Ill(errors.New("no bucket"), now) }))
	if got := trouble(); !strings.Contains(got, "failed 2 times since 2026-11-26T03:00:00Z: no bucket") {
		t.Error(got)
	}
	must(t, b.Tell(t.Context(), "wal", func(s *Source) { s.well("0001", 16, now); s.Whole = now }))
	if got := trouble(); got != "" {
		t.Error(got)
	}
	now = now.Add(80 * time.Second)
	if got := trouble(); !strings.Contains(got, "written in the last 80 s is not in the archive") {
		t.Error(got)
	}
	now = now.Add(20 * time.Second)
	if got := trouble(); !strings.Contains(got, "has reported nothing for 100 s") {
		t.Error(got)
	}
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"form":1,"host":"h","server":"s","series":"wal","file":"f","from":0,"to":0,"mark":"m","kept":"2026-11-26T00:00:00Z","plumb":"x","chunks":[]}`))
	private, public, err := note.GenerateKey(rand.Reader, "plumb-f")
	if err != nil {
		f.Fatal(err)
	}
	sign, _ := note.NewSigner(private)
	v, _ := note.NewVerifier(public)
	f.Fuzz(func(t *testing.T, text []byte) {
		signed, err := note.Sign(&note.Note{Text: string(text) + "\n"}, sign)
		if err != nil {
			return
		}
		if e, err := open(signed, v); err == nil && e.check() != nil {
			t.Errorf("%+v", e)
		}
		_, _ = open(text, v)
		ofEntry(string(text))
	})
}
