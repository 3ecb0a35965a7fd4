package prune

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/protect/keep"
)

// A backup begins, ends, or looks at what it builds on, at every moment at which a prune writes, and the other
// way round: what is there in the end comes back.
func TestEveryMeeting(t *testing.T) {
	meetings := 0
	for n := 1; ; n++ {
		w := newWorld(t)
		base := w.backup(t, "")
		w.backup(t, "")
		calls, done := 0, false
		plain := w.Store
		w.Store = &hooked{Store: plain, before: func(string) {
			if calls++; calls != n {
				return
			}
			done = true
			if _, err := w.b.Run(t.Context(), w.job(base)); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, backup.ErrRemoved) {
				t.Errorf("meeting %d: %v", n, err)
			}
		}}
		_, err := w.try(t, "last=1", 0)
		must(t, err)
		w.Store = plain
		w.end(t, n)
		if !done {
			break
		}
		meetings++
	}
	for n := 1; ; n++ {
		w := newWorld(t)
		base := w.backup(t, "")
		w.backup(t, "")
		calls, done := 0, false
		plain := w.b.Store
		w.b.Store = &hooked{Store: plain, before: func(string) {
			if calls++; calls != n {
				return
			}
			done = true
			w.prune(t, "last=1", 0)
		}}
		w.b.Workers = 1
		_, err := w.b.Run(t.Context(), w.job(base))
		if w.b.Store = plain; err != nil {
			t.Errorf("meeting %d: %v", n, err)
		}
		w.end(t, -n)
		if !done {
			break
		}
		meetings++
	}
	if t.Logf("%d meetings", meetings); meetings < 15 {
		t.Errorf("only %d meetings", meetings)
	}
}

// end prunes until nothing is left to do.
func (w *world) end(t *testing.T, n int) {
	t.Helper()
	w.there(t)
	for range 4 {
		w.pass(80 * time.Hour)
		w.prune(t, "last=1", 0)
		if len(w.there(t)) == 0 {
			t.Fatalf("meeting %d: the last one went", n)
		}
	}
}

// A run that stood still for longer than the grace, and goes on just before its last step, makes no backup.
func TestStoodStill(t *testing.T) {
	for _, at := range []string{"/claim", "/0/list-000000", "/manifest"} {
		w := newWorld(t)
		w.backup(t, "")
		plain, seen := w.b.Store, 0
		w.b.Store = &hooked{Store: plain, before: func(name string) {
			if seen++; !strings.HasSuffix(name, at) || seen == 1 || strings.Contains(at, "!") {
				return
			}
			at = "!" // once
			w.pass(100 * time.Hour)
			if done := w.prune(t, "last=1", 0); len(done.GivenUp) != 1 {
				t.Errorf("%+v", done)
			}
		}}
		job := w.job("")
		_, err := w.b.Run(t.Context(), job)
		if !errors.Is(err, backup.ErrGivenUp) {
			t.Errorf("%s: %v", at, err)
		}
		if n := len(w.there(t)); n != 1 {
			t.Errorf("%d backups", n)
		}
		w.b.Store = plain
		if res, err := w.b.Run(t.Context(), job); err != nil || res.GoesOn || len(w.there(t)) != 2 {
			t.Errorf("again: %+v, %v", res, err)
		}
	}
}

// A claim that is heard of keeps what the run builds on, however long that takes.
func TestClaimKeeps(t *testing.T) {
	w := newWorld(t)
	base := w.backup(t, "")
	w.backup(t, "")
	w.b.Store = dyingAfter(w.Store, 2)
	job := w.job(base)
	if _, err := w.b.Run(t.Context(), job); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	w.b.Store = w.Store
	for range 3 {
		w.pass(20 * time.Hour)
		if done := w.prune(t, "last=1", 0); len(done.Marked) > 0 {
			t.Fatalf("%+v", done)
		}
	}
	if res, err := w.b.Run(t.Context(), job); err != nil || !res.GoesOn {
		t.Errorf("%+v, %v", res, err)
	}
	w.there(t)
}

// A manifest that was committed before its run could say so is not written over when the run goes on.
func TestEndedButNotForgotten(t *testing.T) {
	w := newWorld(t)
	job := w.job("")
	job.Sources[0].Argv = []string{"sh", "-c", "cat /proc/sys/kernel/random/uuid; seq 8000"} // gives something else each time
	w.b.Store = &dead{Store: w.Store}
	first, err := w.b.Run(t.Context(), job)
	w.b.Store = w.Store
	if !errors.Is(err, errDied) || len(w.there(t)) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := w.b.Run(t.Context(), job)
	if err != nil || second.ID == first.ID {
		t.Errorf("%+v, %v", second, err)
	}
	if n := len(w.there(t)); n != 2 {
		t.Errorf("%d backups", n)
	}
}

// reading calls something just before an object is read, too.
type reading struct {
	hooked
	get func(name string)
}

func (r *reading) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	r.get(name)
	return r.Store.Get(ctx, name, into)
}

// A run that goes on just when prune is about to give it up is left alone, wherever prune is.
func TestGoesOnJustNow(t *testing.T) {
	for at := 1; at <= 4; at++ { // prune reads the claim three times, and then writes it
		w := newWorld(t)
		w.b.Workers = 1
		w.backup(t, "")
		w.b.Store = dyingAfter(w.Store, 3)
		job := w.job("")
		if _, err := w.b.Run(t.Context(), job); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		w.pass(100 * time.Hour)
		plain, calls := w.Store, 0
		begun, pruned, ended := make(chan bool), make(chan bool), make(chan error, 1)
		begin := func(name string) {
			if !strings.HasSuffix(name, "/claim") {
				return
			}
			if calls++; calls != at {
				return
			}
			once := sync.OnceFunc(func() { close(begun); <-pruned })
			w.b.Store = &hooked{Store: plain, before: func(name string) {
				if !strings.HasSuffix(name, "/claim") {
					once()
				}
			}}
			go func() {
				_, err := w.b.Run(context.WithoutCancel(t.Context()), job)
				ended <- err
			}()
			<-begun // its claim is there, and it goes on to send
		}
		w.Store = &reading{hooked: hooked{Store: plain, before: begin}, get: begin}
		r := Options{Rules: keep.Rules{Last: 5}}
		done, err := w.Carry(t.Context(), Plan{}, r)
		w.Store = plain
		must(t, err)
		if calls < at {
			t.Fatalf("the claim was touched %d times", calls)
		}
		close(pruned)
		if err := <-ended; err != nil || len(done.GivenUp) > 0 || len(w.there(t)) != 2 {
			t.Errorf("%d: %v, given up %q", at, err, done.GivenUp)
		}
	}
}
