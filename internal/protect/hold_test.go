package protect

import (
	"strings"
	"testing"
)

// TestHold: what somebody holds is not destroyed until he, and nobody else, releases it.
func TestHold(t *testing.T) {
	s := newScene(t, machine{})
	p, err := s.Take(t.Context(), s.plan, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second changes nothing
		if err := s.Hold(t.Context(), p.ID, "audit"); err != nil {
			t.Fatal(err)
		}
	}
	if now := s.points(t)[0]; len(now.Holds) != 1 || now.Holds[0].Since.IsZero() {
		t.Errorf("holds %+v", now.Holds)
	}
	if err := s.Destroy(t.Context(), p.ID); err == nil || !strings.Contains(err.Error(), "held by audit") {
		t.Errorf("destroyed: %v", err)
	}
	if err := s.Release(t.Context(), p.ID, "other"); err == nil {
		t.Error("somebody else released it")
	}
	if err := s.Release(t.Context(), p.ID, "audit"); err != nil {
		t.Error(err)
	}
	if err := s.Destroy(t.Context(), p.ID); err != nil {
		t.Error(err)
	}
	if err := s.Hold(t.Context(), p.ID, "audit"); err == nil {
		t.Error("what is gone was held")
	}
}
