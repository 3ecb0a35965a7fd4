package backup

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What is written down of killed runs goes after a month, unless one of them is gone on with just then. Until then they can be.
func TestKilledRunsAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.Workers = 1
	good := w.Store
	logs := func() (all []string) {
		t.Helper()
		all, err := filepath.Glob(w.Dir + "/running/*.log")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	die := func(line string) string {
		t.Helper()
		before := logs()
		w.Store = dyingAfter(good, 3)
		if _, err := w.Run(t.Context(), command(line)); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		w.Store = good
		return slices.DeleteFunc(logs(), func(name string) bool { return slices.Contains(before, name) })[0]
	}
	run := func(line string) Result {
		t.Helper()
		res, err := w.Run(t.Context(), command(line))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	die("seq 60000")
	busy := die("seq 60001")
	run("seq 10")
	if left := logs(); len(left) != 2 {
		t.Errorf("at once: %q", left)
	}
	unlock, err := w.Do.Lock(t.Context(), busy+".lock")
	if err != nil {
		t.Fatal(err)
	}
	w.Now = func() time.Time { return time.Now().Add(resumable + time.Hour) }
	run("seq 11")
	if left := logs(); !slices.Equal(left, []string{busy}) {
		t.Errorf("after a month: %q", left)
	}
	unlock()
	if res := run("seq 60001"); !res.GoesOn || len(logs()) != 0 {
		t.Errorf("one that is gone on with after all: %+v, %q", res, logs())
	}
	if left, err := filepath.Glob(w.Dir + "/running/*"); err != nil || len(left) > 0 {
		t.Errorf("what nobody runs any more leaves %q, %v", left, err)
	}
}
