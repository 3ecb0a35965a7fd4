package protect

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"strings"
	"testing"
)

func TestDestroy(t *testing.T) {
	s := newScene(t, machine{})
	take := func() Point {
		t.Helper()
		p, err := s.Take(t.Context(), s.plan, TakeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	refused := func(id, want string, still func(Point) error) {
		t.Helper()
		err := s.DestroyIf(t.Context(), id, still)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if err := s.whole(t); err != nil {
			t.Error(err)
		}
	}
	p := take()
	s.shelf.clones = map[string][]string{p.Members[1].Snapshot: {"dev"}}
	refused(p.ID, "dev was made of", nil)
	refused(p.ID, "not as planned", func(Point) error { return errors.New("not as planned") })
	s.shelf.clones = nil
	if err := s.Change(t.Context(), p.ID, func(p *Point) { p.Holds = []Hold{{Owner: "me"}} }); err != nil {
		t.Fatal(err)
	}
	refused(p.ID, "held by me", nil)
	if err := s.Change(t.Context(), p.ID, func(p *Point) { p.Holds = nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Destroy(t.Context(), p.ID); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path.Join(s.Store.Dir, goneLog))
	var gone Gone
	if err != nil || json.Unmarshal(text, &gone) != nil || gone.ID != p.ID || len(gone.Members) != 2 || gone.By == "" {
		t.Errorf("the log has %s, %v", text, err)
	}
	if len(s.points(t)) != 0 || len(s.snapshots(t)) != 0 {
		t.Errorf("left: %+v, %q", s.points(t), s.snapshots(t))
	}
}

// TestHalfDestroyed: what cannot be destroyed now is destroyed later, and keeps no point from being
// taken meanwhile. What lost nothing is whole again.
func TestHalfDestroyed(t *testing.T) {
	s := newScene(t, machine{})
	p, err := s.Take(t.Context(), s.plan, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.shelf.busy = errors.New("dataset is busy")
	if err := s.Destroy(t.Context(), p.ID); err == nil {
		t.Fatal("a busy snapshot was destroyed")
	}
	if left := s.points(t); len(left) != 1 || left[0].State != Destroying {
		t.Fatalf("half of it is gone: %+v", left)
	}
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{}); err != nil {
		t.Errorf("another one cannot be taken: %v", err)
	}
	if err := s.Sweep(t.Context()); err == nil {
		t.Error("the sweep does not tell")
	}
	s.shelf.busy = nil
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.whole(t); err != nil || len(s.points(t)) != 1 {
		t.Errorf("%v, %d points", err, len(s.points(t)))
	}
	// Nothing is lost yet: the storage refuses before the first.
	p = s.points(t)[0]
	s.plan.Set.Volumes[1].Mountpoint = "/a" // it comes first
	if p, err = s.Take(t.Context(), s.plan, TakeOptions{}); err != nil {
		t.Fatal(err)
	}
	s.shelf.busy = errors.New("dataset is busy")
	if err := s.Destroy(t.Context(), p.ID); err == nil {
		t.Error("a busy snapshot was destroyed")
	}
	if err := s.whole(t); err != nil {
		t.Errorf("nothing was destroyed, and yet: %v", err)
	}
}
