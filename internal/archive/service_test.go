package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/reach"
)

// hanging is a store that does not answer until it is let go.
type hanging struct {
	store.Store
	begun chan struct{} // somebody waits
	let   chan struct{}
}

func (h *hanging) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	select {
	case h.begun <- struct{}{}:
	default:
	}
	<-h.let
	return h.Store.Put(ctx, name, data, o)
}

// served is a service that runs.
type served struct {
	*world
	socket string
	board  *Board
	dir    string
	gaps   Gaps
	mu     sync.Mutex
	told   []string
}

func serve(t *testing.T, w *world, within time.Duration, follow ...Follower) *served {
	t.Helper()
	return serveWith(t, w, within, nil, follow...)
}

func serveWith(t *testing.T, w *world, within time.Duration, gaps Gaps, follow ...Follower) *served {
	t.Helper()
	s := &served{world: w, dir: t.TempDir(), gaps: gaps}
	s.socket = filepath.Join(s.dir, "socket/s")
	s.board = &Board{Do: hosttest.LiveDoer(t), File: StatusFile(s.dir, "main"), Now: time.Now}
	must(t, s.board.Begin(t.Context(), Status{Name: "main"}))
	return s.run(t, w, within, follow...)
}

func (s *served) run(t *testing.T, w *world, within time.Duration, follow ...Follower) *served {
	t.Helper()
	in, err := reach.NewInlet(s.socket, os.Geteuid())
	must(t, err)
	service := &Service{Keeper: w.Keeper, Board: s.board, Every: 10 * time.Millisecond, Within: within, Say: func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, text)
	}}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(ctx, &Inlet{Inlet: in, UID: os.Geteuid(), Name: "wal", Gaps: s.gaps, Accept: func(o Offer, _ []byte) (Piece, error) {
			return Piece{Server: "s", Series: "wal", File: o.File, To: o.Size}, nil
		}}, follow)
	}()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *served) push(file string, text []byte) error {
	c, err := reach.DialInlet(s.socket)
	if err != nil {
		return err
	}
	return errors.Join(HandOver(c, Offer{File: file, Size: int64(len(text))}, bytes.NewReader(text), 30*time.Second), c.Close())
}

func (s *served) trouble(t *testing.T) string {
	t.Helper()
	all, err := Statuses(t.Context(), s.board.Do, s.dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return strings.Join(all[0].Trouble(time.Now(), time.Hour), "\n")
}

// Many hand over at once, and all of it is there. Who connects and says nothing has failed at nothing.
func TestServes(t *testing.T) {
	var s *served
	t.Cleanup(func() { // when the service has ended
		if len(s.told) > 0 {
			t.Errorf("it says %q", s.told)
		}
	})
	s = serve(t, newWorld(t), time.Minute)
	c, err := reach.DialInlet(s.socket)
	must(t, err)
	must(t, c.Close())
	var all sync.WaitGroup
	for _, file := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			text := bytes.Repeat([]byte(file), 100_000)
			if err := s.push(file, text); err != nil {
				t.Error(err)
			}
			if got, err := s.read(t, Piece{Server: "s", Series: "wal", File: file, To: 100_000}); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	if got := s.trouble(t); got != "" {
		t.Error(got)
	}
	if _, err := reach.NewInlet(filepath.Join(s.dir, "archive/main.json"), os.Geteuid()); err == nil {
		t.Error("a file is taken for an old socket")
	}
}

// A service whose socket somebody removes ends, and says why: it would wait for ever for files that nobody can hand over, and say that it
// is well.
func TestSocketIsGone(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	socket := filepath.Join(dir, "socket/s")
	in, err := reach.NewInlet(socket, os.Geteuid())
	must(t, err)
	b := &Board{Do: hosttest.LiveDoer(t), File: StatusFile(dir, "main"), Now: time.Now}
	must(t, b.Begin(t.Context(), Status{Name: "main"}))
	s := &Service{Keeper: w.Keeper, Board: b, Within: time.Minute, Pulse: time.Millisecond, Say: func(text string) { t.Error(text) }}
	must(t, os.Remove(socket))
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	if err := s.Run(ctx, &Inlet{Inlet: in, UID: os.Geteuid(), Name: "wal"}, nil); !errors.Is(err, reach.ErrGone) || !strings.Contains(hint.Of(err), "makes a new one") {
		t.Errorf("%v, with the hint %q", err, hint.Of(err))
	}
	if got := (&served{board: b, dir: dir}).trouble(t); !strings.Contains(got, "wal: failed 1 time ") || !strings.Contains(got, "the socket is gone") {
		t.Errorf("%q", got)
	}
}

// While the store hangs every server is told that it failed, and so is who asks; when it answers again, all goes on.
func TestStoreHangs(t *testing.T) {
	w := newWorld(t)
	h := &hanging{w.Keeper.Store, make(chan struct{}, 1), make(chan struct{})}
	w.Keeper.Store = h
	s := serve(t, w, 500*time.Millisecond)
	first := make(chan error, 1)
	go func() { first <- s.push("a", []byte("text")) }()
	<-h.begun
	if err := s.push("b", []byte("text")); err == nil {
		t.Error("it was taken while the store hangs")
	}
	if err := <-first; err == nil {
		t.Error("the first was told that it is archived")
	}
	for end := time.Now().Add(time.Minute); s.trouble(t) == ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody is told")
		}
	}
	close(h.let)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		err := errors.Join(s.push("a", []byte("text")), s.push("b", []byte("text")))
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); s.trouble(t) != ""; time.Sleep(5 * time.Millisecond) { // the first is told of last, perhaps
		if err := s.push("a", []byte("text")); time.Now().After(end) {
			t.Fatalf("%v, %s", err, s.trouble(t))
		}
	}
}

// fullDisk is a machine on whose disk nothing can be written any more.
type fullDisk struct{ host.Doer }

func (fullDisk) Replace(context.Context, string, []byte, fs.FileMode) error { return syscall.ENOSPC }

// A service that cannot write down how it is archives all the same, or a disk that is full of log would stay so.
func TestDiskIsFull(t *testing.T) {
	s := &served{world: newWorld(t), dir: t.TempDir()}
	s.socket = filepath.Join(s.dir, "socket/s")
	s.board = &Board{Do: fullDisk{hosttest.LiveDoer(t)}, File: StatusFile(s.dir, "main"), Now: time.Now}
	if err := s.board.Begin(t.Context(), Status{Name: "main"}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	f := &turning{}
	s.run(t, s.world, time.Minute, f)
	if err := s.push("a", []byte("text")); err != nil {
		t.Error(err)
	}
	f.reach(t, 3)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(strings.Join(s.told, "\n"), "no space left") {
		t.Errorf("%q", s.told)
	}
}

// turning is a log that is looked at.
type turning struct {
	mu    sync.Mutex
	turns int
}

// Name implements Follower.
func (*turning) Name() string { return "log" }

// Turn implements Follower.
func (f *turning) Turn(context.Context, *Keeper) (Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turns++
	switch f.turns {
	case 1:
		return Turn{}, errors.New("no file")
	case 2:
		return Turn{Break: "it was reset", Breaks: broke, More: true}, nil
	}
	return Turn{Last: "f:1", Whole: true, Breaks: broke}, nil
}

var broke = []Break{{At: time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC), Why: "it was reset"}}

// Knows implements Follower.
func (*turning) Knows(m manifest.Manifest) bool { return m.Facts["of"] == "log" }

// reach waits until it was looked at so often.
func (f *turning) reach(t *testing.T, turns int) {
	t.Helper()
	is := func() int { f.mu.Lock(); defer f.mu.Unlock(); return f.turns }
	for end := time.Now().Add(time.Minute); is() < turns; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not looked at")
		}
	}
}

// What a log that is followed says is told; that it broke off stays until a base begins behind it.
func TestFollowed(t *testing.T) {
	w := newWorld(t)
	const off = "log: the log broke off at 2026-11-26T03:00:00Z: it was reset; earlier base backups cannot be recovered beyond that: take a new one"
	for _, c := range []struct {
		began time.Time
		of    string
		want  string
	}{{want: off}, {broke[0].At.Add(time.Hour), "wal", off}, {broke[0].At.Add(-time.Second), "log", off}, {broke[0].At.Add(time.Minute), "log", ""}} {
		if c.of != "" {
			w.backup(t, c.began, c.of)
		}
		f := &turning{}
		s := serve(t, w, time.Minute, f)
		f.reach(t, 5)
		if got := s.trouble(t); got != c.want {
			t.Errorf("with a base of %s at %s: %q", c.of, c.began, got)
		}
	}
}

// stuck is a log of which the first look never ends: its disk hangs.
type stuck struct{ let chan struct{} }

func (stuck) Name() string { return "mysql" }

func (stuck) Knows(manifest.Manifest) bool { return false }

func (s stuck) Turn(context.Context, *Keeper) (Turn, error) {
	<-s.let
	return Turn{}, nil
}

// A log of which nothing was ever archived, because the first look at it hangs, is told, and not taken for one that is well.
func TestFirstLookHangs(t *testing.T) {
	f := stuck{make(chan struct{})}
	s := serve(t, newWorld(t), time.Second, f)
	t.Cleanup(func() { close(f.let) }) // before the service is waited for
	all, err := Statuses(t.Context(), hosttest.LiveDoer(t), s.dir)
	for ; err == nil && (len(all) == 0 || len(all[0].Sources) == 0); all, err = Statuses(t.Context(), hosttest.LiveDoer(t), s.dir) {
		time.Sleep(5 * time.Millisecond)
	}
	must(t, err)
	if now := time.Now(); len(all[0].Trouble(now, time.Minute)) > 0 {
		t.Errorf("just begun: %q", all[0].Trouble(now, time.Minute))
	}
	all[0].Alive = time.Now().Add(2 * time.Minute)
	if got := all[0].Trouble(time.Now().Add(2*time.Minute), time.Minute); len(got) != 1 || !strings.Contains(got[0], "its log is not completely archived yet") {
		t.Errorf("%q", got)
	}
}
