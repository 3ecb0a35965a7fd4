package protect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

var errNoPool = errors.New("the pool tank is not imported")

// taken takes a point on two volumes, of which nothing is learned of the second from then on.
func (s *scene) taken(t *testing.T, err error) Point {
	t.Helper()
	p, failed := s.Take(t.Context(), s.plan, TakeOptions{})
	if failed != nil {
		t.Fatal(failed)
	}
	s.shelf.dead = map[string]error{"log": err}
	return p
}

// logged gives what the log of destroyed points has of one.
func (s *scene) logged(t *testing.T, id string) (gone Gone) {
	t.Helper()
	text, err := os.ReadFile(path.Join(s.Store.Dir, goneLog))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if err := json.Unmarshal([]byte(line), &gone); err != nil {
			t.Fatal(err)
		}
		if gone.ID == id {
			return gone
		}
	}
	t.Fatalf("%s is not in the log: %s", id, text)
	return gone
}

// TestForgetIsRefused: what answers, what somebody holds or uses, and what nobody was asked about is not forgotten.
func TestForgetIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		dead  error
		with  func(*scene, Point) error
		still func(Point) error
		want  string
	}{
		"all answers":        {dead: nil, want: "all of the storage of point"},
		"no right to ask":    {dead: fmt.Errorf("run zfs get: %w", host.ErrDenied), want: "says nothing about the storage"},
		"more than was read": {dead: fmt.Errorf("run zfs get: %w", host.ErrTooLarge), want: "says nothing about the storage"},
		"it is there":        {dead: fmt.Errorf("find its top: %w, mounted on /data", ErrThere), want: "it is there, mounted on /data"},
		"held":               {dead: errNoPool, with: func(s *scene, p Point) error { return s.Hold(context.Background(), p.ID, "audit") }, want: "held by audit"},
		"not as planned":     {dead: errNoPool, still: func(Point) error { return errors.New("it is not as planned") }, want: "not as planned"},
		"what answers is used": {dead: errNoPool, with: func(s *scene, p Point) error {
			s.shelf.clones = map[string][]string{p.Members[0].Snapshot: {"dev"}}
			return nil
		}, want: "dev was made of"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, machine{})
			p := s.taken(t, c.dead)
			if c.with != nil {
				if err := c.with(s, p); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Forget(t.Context(), p.ID, c.still); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if err := s.whole(t); err != nil || len(s.points(t)) != 1 {
				t.Errorf("%v, %d points", err, len(s.points(t)))
			}
			if err := s.Destroy(t.Context(), p.ID); c.dead != nil && err == nil {
				t.Error("without a word it was destroyed")
			}
		})
	}
}

// TestForgetStopped: who is told to stop while a storage does not answer has forgotten nothing.
func TestForgetStopped(t *testing.T) {
	s := newScene(t, machine{})
	p := s.taken(t, context.Canceled)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got, err := s.Unanswered(ctx, s.Do, p); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got.Leaves(), err)
	}
}

// TestForget: what answers is destroyed; what does not, for whatever reason, is left, and the log says so.
func TestForget(t *testing.T) {
	for _, dead := range []error{errNoPool, context.DeadlineExceeded, errors.New("input/output error")} {
		s := newScene(t, machine{})
		p := s.taken(t, dead)
		if err := s.DestroyIf(t.Context(), p.ID, nil); err == nil {
			t.Fatalf("%v: without a word it is gone", dead)
		}
		if err := s.whole(t); err != nil {
			t.Fatalf("%v: %v", dead, err)
		}
		asked := 0
		err := s.Forget(t.Context(), p.ID, func(now Point) error {
			asked++
			if left := now.Leaves(); len(left) != 1 || left[0].Name != "log" || !strings.Contains(left[0].Left, dead.Error()) {
				t.Errorf("%v: what would be left is %+v", dead, left)
			}
			return nil
		}, "it was named")
		if err != nil || asked != 1 {
			t.Fatal(err, asked)
		}
		if left := s.snapshots(t); !slices.Equal(left, []string{p.Members[1].Snapshot}) || len(s.points(t)) != 0 {
			t.Errorf("%v: left are %q and %d points", dead, left, len(s.points(t)))
		}
		gone := s.logged(t, p.ID)
		if len(gone.Members) != 2 || gone.Members[0].Left != "" || !strings.Contains(gone.Members[1].Left, dead.Error()) || gone.Members[1].GUID == "" || gone.Why[0] != "it was named" {
			t.Errorf("%v: the log has %+v", dead, gone)
		}
	}
}

// TestForgetTakesReadyCopies: a ready copy on storage that is gone cannot be removed any more, and goes off the list with the point.
func TestForgetTakesReadyCopies(t *testing.T) {
	s := newScene(t, machine{})
	s.Books = path.Join(t.TempDir(), "books")
	p := s.taken(t, errNoPool)
	book, err := kinds.Books(s.Do, s.Books).Open(t.Context(), "ready-"+p.ID)
	if err != nil {
		t.Fatal(err)
	}
	life := &inventory.Life{Owner: p.ReadyOwner(), Since: s.Now()}
	thing := inventory.Thing{Kind: inventory.LogicalVolume, Name: "log/plumb-clone-1", Life: life, Proof: map[string]string{"uuid": "u"}}
	if _, err := book.Make(t.Context(), thing, func(*inventory.Thing) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := book.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context(), p.ID, nil); err != nil {
		t.Fatal(err)
	}
	books, err := kinds.Books(s.Do, s.Books).List(t.Context())
	for _, b := range books {
		if len(b.Living) > 0 {
			t.Errorf("still on the list: %+v", b.Living)
		}
	}
	if err != nil || len(s.points(t)) != 0 {
		t.Errorf("%v, %d points", err, len(s.points(t)))
	}
}

// TestForgetWhatWasOnlyBegun: a point whose taking, and one whose destruction was killed, can be forgotten as well: no sweep can finish
// them.
func TestForgetWhatWasOnlyBegun(t *testing.T) {
	for _, state := range []State{Taking, Destroying} {
		s := newScene(t, machine{})
		p := s.taken(t, errNoPool)
		p.State = state
		if state == Taking {
			for i := range p.Members {
				p.Members[i] = Member{Volume: p.Members[i].Volume}
			}
		}
		if err := s.Store.Put(t.Context(), s.Do, p); err != nil {
			t.Fatal(err)
		}
		if err := s.Sweep(t.Context()); err == nil {
			t.Fatalf("%s: a sweep says nothing", state)
		}
		if left := s.points(t); len(left) != 1 || left[0].State != state {
			t.Fatalf("%s: a sweep left %+v", state, left)
		}
		if err := s.Forget(t.Context(), p.ID, nil); err != nil {
			t.Fatal(err)
		}
		if left := s.snapshots(t); len(left) != 1 || !strings.HasPrefix(left[0], "log@") || len(s.points(t)) != 0 {
			t.Errorf("%s: left are %q and %d points", state, left, len(s.points(t)))
		}
		if err := s.Sweep(t.Context()); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// TestForgetThatStuck: once it is written down that a part is left, the next run goes on with the rest, and leaves that part, also
// when its storage is back by then.
func TestForgetThatStuck(t *testing.T) {
	s := newScene(t, machine{})
	s.plan.Set.Volumes[0], s.plan.Set.Volumes[1] = s.plan.Set.Volumes[1], s.plan.Set.Volumes[0]
	p, err := s.Take(t.Context(), s.plan, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.shelf.dead, s.shelf.busy = map[string]error{"data": errNoPool}, errors.New("dataset is busy")
	if err := s.Forget(t.Context(), p.ID, nil); err == nil {
		t.Fatal("a busy snapshot was destroyed")
	}
	if left := s.points(t); len(left) != 1 || left[0].State != Destroying || len(left[0].Leaves()) != 1 {
		t.Fatalf("left is %+v", left)
	}
	s.shelf.dead, s.shelf.busy = nil, nil
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := s.snapshots(t); len(left) != 1 || !strings.HasPrefix(left[0], "data@") || len(s.points(t)) != 0 {
		t.Errorf("left are %q and %d points", left, len(s.points(t)))
	}
	if gone := s.logged(t, p.ID); len(gone.Members) != 2 {
		t.Errorf("the log has %+v", gone)
	}
}

// TestForgetSaysHow: who forgets without need is told what does it.
func TestForgetSaysHow(t *testing.T) {
	s := newScene(t, machine{})
	p := s.taken(t, nil)
	if err := s.Forget(t.Context(), p.ID, nil); !strings.Contains(hint.Of(err), "without --forget") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}
