// Package deaths lets the machine die before, amid and after every operation of the verbs that
// protect a server, and looks whether what a person types next leaves nothing behind and loses nothing.
//
// The storage is real. In place of a database server, which would take seconds to start each time, is a process
// that only runs: see [Engine]. The real servers are in test/points, and the real program is killed in
// kill_test.go.
package deaths

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/test/sandbox"
)

// Act is something that is done with the verbs.
type Act func(ctx context.Context, h *Hands) error

// Verb is one that is killed.
type Verb struct {
	Name   string
	Before []Act // makes what it needs
	Do     Act   // is killed
	Next   []Act // what a person may type then, each on its own and each in its turn
	After  []Act // brings back what was
}

// Stride is how far the deaths are apart that are tried: three are of one operation.
func Stride() int {
	switch {
	case sandbox.Full():
		return 1
	case os.Getenv("PLUMB_REAL") != "":
		return 7
	}
	return 149
}

// Try kills a verb at one of every so many operations. stride 1 is all of them, in each way.
func (s *Scene) Try(t *testing.T, v Verb, stride int) {
	t.Helper()
	was := s.World(t)
	end := s.life(t, v, 0, hosttest.Before, func(*Hands) error { return nil })
	if now := s.World(t); now != was {
		t.Fatalf("undisturbed it left\n%s\nin place of\n%s", now, was)
	}
	earlier, began, deaths := remembered(t), time.Now(), 0
	for i := stride / 2; i < end*3 && !t.Failed(); i += stride {
		if earlier.has(i) {
			continue
		}
		if earlier.late(t) {
			t.Skipf("%d deaths in %s and %d in earlier runs, of %d, then no more time: the next run goes on", deaths, time.Since(began).Round(time.Second), earlier.n, (end*3+stride-1)/stride)
		}
		at, how := i/3+1, []string{hosttest.Before, hosttest.Amid, hosttest.After}[i%3]
		n := (i/3 + i%3) % len(v.Next) // each follows each of the three ways to die
		s.life(t, v, at, how, func(h *Hands) error { return v.Next[n](t.Context(), h) })
		deaths++
		if now := s.World(t); now != was {
			t.Fatalf("dead %s operation %d of %d, then %d of what is typed next: it left\n%s\nin place of\n%s", how, at, end, n, now, was)
		}
		earlier.add(t, i)
	}
	t.Logf("%d operations, %d deaths in %s, %d in earlier runs", end, deaths, time.Since(began).Round(time.Second), earlier.n)
}

// life is one death, what is typed next, and what brings back what was. It gives the number of operations.
func (s *Scene) life(t *testing.T, v Verb, at int, how string, next func(*Hands) error) int {
	t.Helper()
	ctx, alive := t.Context(), s.Alive()
	do := func(what string, acts []Act) {
		for i, act := range acts {
			if err := act(ctx, alive); err != nil {
				t.Fatalf("dead %s operation %d: act %d %s: %v", how, at, i, what, err)
			}
		}
	}
	do("before", v.Before)
	h, m := s.Mortal(at, how)
	err := v.Do(ctx, h)
	if at == 0 && err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	m.Rest()
	s.note(t)
	if failed := next(alive); failed != nil {
		t.Fatalf("dead %s operation %d (%v), then: %v", how, at, err, failed)
	}
	do("after", v.After)
	return m.N
}

// TakeBack undoes the changes that are in force, and then forgets all: each life would read the journals of those
// before it.
func TakeBack(ctx context.Context, h *Hands) error {
	all, err := h.Change.Changes(ctx)
	for _, c := range slices.Backward(all) {
		if err == nil {
			err = c.Damage
		}
		if err == nil && c.Open() {
			err = h.Change.Undo(ctx, []int{c.Number}, change.UndoOptions{})
		}
	}
	for _, c := range all {
		if err == nil {
			err = h.Change.Doer.Remove(ctx, c.File)
		}
	}
	return err
}
