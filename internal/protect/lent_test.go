package protect

import (
	"path/filepath"
	"testing"

	"plumb/internal/host/hosttest"
)

// none wants that nothing is left of points.
func (s *scene) none(t *testing.T, when string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Store.Dir, "*"+lentEnd))
	if err != nil || len(files)+len(s.points(t))+len(s.snapshots(t)) > 0 {
		t.Errorf("%s: left %v, %v, %v; %v", when, files, s.points(t), s.snapshots(t), err)
	}
}

// TestLentPoints: what is lent stays while its process is there, and goes when it gives it back or is killed.
func TestLentPoints(t *testing.T) {
	s := newScene(t, machine{})
	p, giveBack, err := s.TakeLent(t.Context(), s.plan, TakeOptions{Mode: ModeLocked})
	if err != nil || p.Label != Locked {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := s.Sweep(t.Context()); err != nil || len(s.points(t)) != 1 || len(s.snapshots(t)) != 2 {
		t.Errorf("while it is lent: %v and %v are there, %v", s.points(t), s.snapshots(t), err)
	}
	if err := giveBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.none(t, "given back")

	s.shelf.fail = 2
	_, giveBack, err = s.TakeLent(t.Context(), s.plan, TakeOptions{Mode: ModeCrash})
	if err == nil {
		t.Error("the snapshot did not fail")
	}
	if err := giveBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.none(t, "not taken")
}

// TestLenderDies lets the machine die at every change that lending makes. The next run, one that takes a point or one
// that sweeps, leaves nothing of it.
func TestLenderDies(t *testing.T) {
	for _, how := range []string{hosttest.Before, hosttest.Amid, hosttest.After} {
		for at := 1; ; at++ {
			s := newScene(t, machine{})
			alive, live := s.Do, hosttest.LiveDoer(t)
			s.Do = machine{LiveDoer: live, front: hosttest.NewMortal(live, at, how)}
			_, giveBack, err := s.TakeLent(t.Context(), s.plan, TakeOptions{Mode: ModeLocked})
			if failed := giveBack(t.Context()); err == nil { // of one that died nothing comes but that its locks are gone
				err = failed
			}
			done := err == nil
			s.Do = alive
			if at%2 == 0 {
				p, err := s.Take(t.Context(), s.plan, TakeOptions{})
				if err == nil {
					err = s.Destroy(t.Context(), p.ID)
				}
				if err != nil {
					t.Fatalf("died %s %d: %v", how, at, err)
				}
			} else if err := s.Sweep(t.Context()); err != nil {
				t.Fatalf("died %s %d: %v", how, at, err)
			}
			s.none(t, how)
			if done {
				if at < 7 {
					t.Errorf("only %d changes were seen", at)
				}
				break
			}
		}
	}
}
