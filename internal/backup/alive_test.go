package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// TestGivenUpSaysWhy: only of a run that a prune gave up it is said that it was silent for too long.
func TestGivenUpSaysWhy(t *testing.T) {
	const id = "20261127T120000Z-0a0b0c0d"
	s := newWorld(t).Store
	put := func(name string, text []byte) {
		t.Helper()
		_ = s.Delete(t.Context(), name)
		if _, err := s.Put(t.Context(), name, text, store.Put{New: true}); err != nil {
			t.Fatal(err)
		}
	}
	claimed := func(by manifest.Claim) {
		t.Helper()
		by.ID = id
		text, err := by.Write()
		if err != nil {
			t.Fatal(err)
		}
		put(manifest.ClaimName(id), text)
	}
	says := func(what string, err error, want string) {
		t.Helper()
		if !errors.Is(err, ErrGivenUp) || !strings.HasSuffix(err.Error(), ErrGivenUp.Error()+": "+want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := &claim{in: s, id: id, now: time.Now}
	says("its claim is gone", c.take(t.Context()), isEither)
	claimed(manifest.Claim{Beat: "a", GivenUp: true})
	says("a prune was there", c.take(t.Context()), isDead)
	claimed(manifest.Claim{Beat: "b"})
	says("its claim is changed", c.write(t.Context()), isEither)
	ours := &claim{in: s, id: id, now: time.Now, run: &running{said: map[string]bool{"a": true}}}
	says("a copy of the machine was there", ours.take(t.Context()), isTaken)
	put(manifest.Name(id), []byte("a manifest"))
	says("it exists", c.open(t.Context()), isThere)
}

// busy is a host on which another process has every lock.
type busy struct{ host.Doer }

func (busy) Lock(context.Context, string) (func(), error)     { return nil, host.ErrLocked }
func (busy) Stat(context.Context, string) (host.Stat, error)  { return host.Stat{}, nil }
func (busy) ReadFile(context.Context, string) ([]byte, error) { return nil, nil }

// TestBegunIsLocked: whoever waited in vain for another process is told what to do.
func TestBegunIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Adopt(t.Context(), busy{}, "/var/lib/plumb", []string{"20261127T120000Z-0a0b0c0d"})
		if !errors.Is(err, host.ErrLocked) || !strings.Contains(err.Error(), "another Plumb") || hint.Of(err) == "" {
			t.Errorf("%v, hint %q", err, hint.Of(err))
		}
	})
}
