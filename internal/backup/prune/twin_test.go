package prune

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/protect/keep"
)

// TestTwin has a machine prune to which a copy of it, with the same key, has backed up too: the rules, for which the backups of both are of
// one server, remove nothing until the machine takes those for its own. A machine that made none of them, and only prunes, is not stopped.
func TestTwin(t *testing.T) {
	w := newWorld(t)
	w.Do, w.Dir = w.b.Do, w.b.Dir
	var own []string
	for range 5 {
		own = append(own, w.backup(t, ""))
	}
	twin := w.b.Dir + "-copy"
	must(t, os.CopyFS(twin, os.DirFS(w.b.Dir)))
	t.Cleanup(func() { _ = os.RemoveAll(twin) })
	if done := w.prune(t, "last=4", 0); len(done.Marked) != 1 {
		t.Fatalf("it is alone: %+v", done)
	}
	here := w.b.Dir
	w.b.Dir = twin
	foreign := w.backup(t, "")
	w.b.Dir = here

	stopped := func(why string) {
		t.Helper()
		w.pass(100 * time.Hour)
		done := w.prune(t, "last=4", 0)
		if n := len(done.Plan.Brakes); n != 1 || done.Objects > 0 || len(done.Marked)+len(done.Removed) > 0 {
			t.Fatalf("%s: %+v", why, done)
		}
		if b := done.Plan.Brakes[0]; !strings.Contains(b.Why, foreign) || !strings.Contains(b.Why, backup.ErrTwin.Error()) || !strings.Contains(b.Hint, here) || !strings.Contains(b.Hint, "--adopt") {
			t.Errorf("%s: %q, %q", why, b.Why, b.Hint)
		}
	}
	stopped("before it was told of")
	if res, err := w.b.Run(t.Context(), w.job("")); err != nil || !errors.Is(res.Twin, backup.ErrTwin) {
		t.Fatalf("%v, %v", res.Twin, err)
	}
	stopped("after it was told of")

	plan, err := w.Plan(t.Context(), Options{Names: own[1:2]})
	must(t, err)
	equal(t, "by its ID", plan.Going(), own[1:2])
	dir := w.Dir
	w.Dir = t.TempDir()
	if plan := w.plan(t); len(plan.Brakes)+len(plan.Twins) > 0 {
		t.Errorf("on a machine that made none: %+v", plan)
	}
	w.Dir = dir

	r, err := keep.Parse("last=5")
	must(t, err)
	o := Options{Rules: r, Adopt: true}
	plan, err = w.Plan(t.Context(), o)
	must(t, err)
	equal(t, "of the twin", plan.Twins, []string{foreign})
	must(t, backup.Adopt(t.Context(), w.Do, w.Dir, plan.Twins))
	done, err := w.Carry(t.Context(), plan, o)
	must(t, err)
	equal(t, "marked", done.Marked, own[1:2])
	equal(t, "removed", done.Removed, own[:1])
	if plan := w.plan(t); len(plan.Brakes)+len(plan.Twins) > 0 {
		t.Errorf("it took them for its own: %+v", plan)
	}
}
