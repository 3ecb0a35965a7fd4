package prune

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/protect/keep"
	"plumb/internal/store/dir"
)

// meetings has something run again and again, and something else happen before each of its writes in turn. It counts them.
func meetings(run func(n int, meet func(store.Store, func()) store.Store)) int {
	for n := 1; ; n++ {
		calls, met := 0, false
		run(n, func(s store.Store, what func()) store.Store {
			return &hooked{Store: s, before: func(string) {
				if calls++; calls == n {
					met = true
					what()
				}
			}}
		})
		if !met {
			return n - 1
		}
	}
}

// A backup begins, ends, or looks at what it builds on, at every moment at which a prune writes, and the other
// way round: what is there in the end comes back.
func TestEveryMeeting(t *testing.T) {
	pruned := meetings(func(n int, meet func(store.Store, func()) store.Store) {
		w := newWorld(t)
		base := w.backup(t, "")
		w.backup(t, "")
		plain := w.Store
		w.Store = meet(plain, func() {
			if _, err := w.b.Run(t.Context(), w.job(base)); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, signed.ErrRemoved) {
				t.Errorf("meeting %d: %v", n, err)
			}
		})
		_, err := w.try(t, "last=1", 0)
		must(t, err)
		w.Store = plain
		w.end(t, n)
	})
	backedUp := meetings(func(n int, meet func(store.Store, func()) store.Store) {
		w := newWorld(t)
		base := w.backup(t, "")
		w.backup(t, "")
		plain := w.b.Store
		w.b.Store = meet(plain, func() { w.prune(t, "last=1", 0) })
		w.b.Workers = 1
		_, err := w.b.Run(t.Context(), w.job(base))
		if w.b.Store = plain; err != nil {
			t.Errorf("meeting %d: %v", n, err)
		}
		w.end(t, -n)
	})
	if t.Logf("%d and %d meetings", pruned, backedUp); pruned+backedUp < 15 {
		t.Errorf("only %d meetings", pruned+backedUp)
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
			if at == "/claim" && strings.HasSuffix(name, "/0/list-000000") {
				w.pass(backup.DefaultBeat) // or it need not say again that it lives
			}
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

// offsite is a second store of a world, with a clock of its own.
func (w *world) offsite(t *testing.T) *world {
	t.Helper()
	at := t.TempDir()
	d, err := dir.Open(at)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	to := &world{at: at, cal: &calendar{Store: d, at: map[string]time.Time{}}, Pruner: w.Pruner, b: w.b}
	to.Pruner.Store, to.b.Store = to.cal, to.cal
	to.Pruner.Now = to.cal.now
	return to
}

// copy copies backups to a store, as they are in the world.
func (w *world) copy(t *testing.T, to store.Store, ids ...string) ([]backup.Copied, error) {
	t.Helper()
	var all []manifest.Manifest
	for _, id := range ids {
		m, err := w.Get(t.Context(), id)
		must(t, err)
		all = append(all, m)
	}
	return backup.Copying{From: w.Vault, To: to, Workers: 1, Now: time.Now}.Run(t.Context(), all)
}

// chained makes a world in which a backup builds on another and a newer one is whole, and a second store that has all but the
// one that builds.
func chained(t *testing.T) (w, to *world, base, child string) {
	t.Helper()
	w = newWorld(t)
	base = w.backup(t, "")
	child = w.backup(t, base)
	last := w.backup(t, "")
	to = w.offsite(t)
	_, err := w.copy(t, to.Store, base, last)
	must(t, err)
	return w, to, base, child
}

// A copy that takes longer than the grace keeps in the target what it builds on, and what it has sent.
func TestCopyKeeps(t *testing.T) {
	w, to, base, child := chained(t)
	prunes := 0
	_, err := w.copy(t, &hooked{Store: to.Store, before: func(name string) {
		if !strings.Contains(name, child) {
			return
		}
		prunes++
		to.pass(40 * time.Hour)
		if done := to.prune(t, "last=1", 0); len(done.Marked)+len(done.Removed)+len(done.GivenUp) > 0 && prunes > 1 {
			t.Errorf("prune %d: %+v", prunes, done)
		}
	}}, child)
	if err != nil || prunes < 5 {
		t.Fatalf("%d prunes, %v", prunes, err)
	}
	if got := to.there(t); !slices.Contains(got, base) || !slices.Contains(got, child) {
		t.Errorf("there are %q", got)
	}
	if n := to.objects(t, child); int64(n) != must1(w.Get(t.Context(), child)).Objects() {
		t.Errorf("%d objects: the claim is still there", n)
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A prune of the target at every moment at which a copy writes there, and the other way round, harms neither.
func TestCopyMeetsPrune(t *testing.T) {
	copied := meetings(func(n int, meet func(store.Store, func()) store.Store) {
		w, to, _, child := chained(t)
		_, err := w.copy(t, meet(to.Store, func() { to.prune(t, "last=1", 0) }), child)
		must(t, err)
		to.end(t, n)
	})
	pruned := meetings(func(n int, meet func(store.Store, func()) store.Store) {
		w, to, _, child := chained(t)
		plain := to.Store
		to.Store = meet(plain, func() {
			if _, err := w.copy(t, plain, child); err != nil && !errors.Is(err, signed.ErrRemoved) {
				t.Errorf("meeting %d: %v", n, err)
			}
		})
		_, err := to.try(t, "last=1", 0)
		must(t, err)
		to.Store = plain
		to.end(t, -n)
	})
	if t.Logf("%d and %d meetings", copied, pruned); copied+pruned < 12 {
		t.Errorf("only %d meetings", copied+pruned)
	}
}

// What a prune of the target has marked is not copied again, unless something builds on it: then it is taken back. What is
// going already is lost to what builds on it, and that is said.
func TestCopyOfWhatWasPruned(t *testing.T) {
	w, to, base, child := chained(t)
	equal(t, "marked", to.prune(t, "last=1", 0).Marked, []string{base})
	got, err := w.copy(t, to.Store, base)
	if err != nil || len(got) != 1 || !got[0].Pruned || got[0].There || len(to.there(t)) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = w.copy(t, to.Store, base, child)
	if err != nil || len(got) != 2 || got[0].Pruned || !got[0].There || got[1].Sent == 0 || len(to.there(t)) != 3 {
		t.Errorf("%+v, %v", got, err)
	}

	w, to, base, child = chained(t)
	to.prune(t, "last=1", 0)
	to.pass(80 * time.Hour)
	equal(t, "removed", to.prune(t, "last=1", 0).Removed, []string{base})
	if got, err = w.copy(t, to.Store, base, child); !errors.Is(err, signed.ErrRemoved) || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(to.there(t)) != 1 {
		t.Errorf("there are %q", to.there(t))
	}
}

// What a prune marked before this host was given another key is known for pruned by a copy, and by a prune of another host.
func TestStoneOfFormerKey(t *testing.T) {
	w, to, base, _ := chained(t)
	equal(t, "marked", to.prune(t, "last=1", 0).Marked, []string{base})
	_, err := backup.Rotate(t.Context(), w.b.Do, w.b.Dir, "db1", w.Now)
	must(t, err)
	w.Vault, err = backup.Vault{Store: w.Store}.Own(t.Context(), w.b.Do, w.b.Dir)
	must(t, err)
	if got, err := w.copy(t, to.Store, base); err != nil || len(got) != 1 || !got[0].Pruned {
		t.Errorf("%+v, %v", got, err)
	}
	to.Trust, to.Retired, to.Own = w.Trust, w.Retired, nil
	if p := to.plan(t); len(p.Brakes) > 0 || len(p.Leaving) != 1 || p.Leaving[0].ID != base {
		t.Errorf("%+v", p)
	}
}

// Two copies of one backup at once both end well.
func TestTwoCopiesAtOnce(t *testing.T) {
	meetings(func(n int, meet func(store.Store, func()) store.Store) {
		w, to, _, child := chained(t)
		_, err := w.copy(t, meet(to.Store, func() {
			_, err := w.copy(t, to.Store, child)
			must(t, err)
		}), child)
		if err != nil || len(to.there(t)) != 3 {
			t.Errorf("meeting %d: %v, there are %q", n, err, to.there(t))
		}
	})
}
