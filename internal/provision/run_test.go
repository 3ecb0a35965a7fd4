package provision

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// journal is a run whose journal lies in a directory of the test's own.
func journal(t *testing.T) (Run, string) {
	t.Helper()
	dir := t.TempDir()
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { d.Close() })
	k := change.NewExecutor(d, "test")
	k.Dir = filepath.Join(dir, "journal")
	return Run{Executor: k, Of: "tank/mariadb"}, dir
}

func edits(t *testing.T, dir, name, value string) Stage {
	t.Helper()
	e := &change.Edit{File: filepath.Join(dir, name), Form: edit.Sysctl, Key: "a", Value: value, Ours: true}
	return Stage{Name: name, Steps: []change.Prepared{Step(stack.Ref{Kind: "mysql", Name: "3306"}, name, []change.Act{{Edit: e}})}}
}

// Stages are taken away last first, those of other provisions stay, and one that cannot be taken away ends it: what
// it stands on stays.
func TestTakeAwayIsOfOneProvision(t *testing.T) {
	r, dir := journal(t)
	other := r
	other.Of = "tank/postgres"
	for i, run := range []Run{r, other, r, r} {
		if _, err := run.Stage(t.Context(), edits(t, dir, string(rune('a'+i)), "1")); err != nil {
			t.Fatal(err)
		}
	}
	all, err := r.Stages(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%d stages, %v", len(all), err)
	}
	if err := r.Executor.Doer.Replace(t.Context(), filepath.Join(dir, "c"), []byte("a = 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	undone, err := r.TakeAway(t.Context(), change.UndoOptions{})
	if drifted, ok := errors.AsType[*change.Drifted](err); !ok || len(undone) != 1 || undone[0].Number != 4 {
		t.Errorf("somebody changed the second: %d undone, %v, %v", len(undone), drifted, err)
	}
	if undone, err = r.TakeAway(t.Context(), change.UndoOptions{Force: true}); err != nil || len(undone) != 2 || undone[1].Number != 1 {
		t.Errorf("with force: %d undone, %v", len(undone), err)
	}
	if left, err := other.Stages(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("of the other provision %d stages are left, %v", len(left), err)
	}
}

// Each stage is taken away with sessions of its own: one before it may have restarted the server, which breaks all others.
func TestTakeAwayOpensSessionsForEachStage(t *testing.T) {
	r, dir := journal(t)
	for _, name := range []string{"a", "b"} {
		if _, err := r.Stage(t.Context(), edits(t, dir, name, "1")); err != nil {
			t.Fatal(err)
		}
	}
	opened, open := 0, 0
	r.Anew = func() (*change.Executor, func() error, error) {
		d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
		k := change.NewExecutor(d, "test")
		k.Dir = r.Executor.Dir
		opened, open = opened+1, open+1
		return k, func() error { open--; return d.Close() }, nil
	}
	if undone, err := r.TakeAway(t.Context(), change.UndoOptions{}); err != nil || len(undone) != 2 || opened != 2 || open != 0 {
		t.Errorf("%d undone, sessions opened %d times, and %d times left open: %v", len(undone), opened, open, err)
	}
}

// What a killed run began is ended by the next, and a stage that failed was taken back.
func TestGoOnEndsWhatWasBegun(t *testing.T) {
	r, dir := journal(t)
	r.Executor.Doer = &host.Hooked{Behind: r.Executor.Doer, Around: func(ctx context.Context, c host.Call, do func() error) error {
		if c.Op == "make directory" && strings.Contains(c.Of[0], "killed") {
			panic("killed")
		}
		return do()
	}}
	place := filepath.Join(dir, "killed")
	s := Stage{Name: "datasets", Steps: []change.Prepared{Step(stack.Ref{Kind: "mysql", Name: "3306"}, "datasets",
		[]change.Act{{Make: &change.Make{Thing: change.Thing{Path: place}, Directory: &change.Dir{Perm: 0o700, UID: -1, GID: -1}}}})}}
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Stage(t.Context(), s)
	}()
	next := r
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer d.Close()
	next.Executor = change.NewExecutor(d, "test")
	next.Executor.Dir = r.Executor.Dir
	all, err := next.Stages(t.Context())
	if err != nil || len(all) != 1 || !Torn(all[0]) {
		t.Fatalf("killed, there are %d stages, %v", len(all), err)
	}
	left := host.LeftRunning{Who: "process 7 (sh)"}
	next.Executor.Doer = &host.Hooked{Behind: d, Around: func(_ context.Context, c host.Call, do func() error) error {
		if c.Op == "lock" {
			return left
		}
		return do()
	}}
	if _, err := next.GoOn(t.Context()); !errors.Is(err, host.ErrLocked) || hint.Of(err) != left.Hint() {
		t.Errorf("while a command of the killed one runs: %v, hint %q", err, hint.Of(err))
	}
	next.Executor.Doer = d
	if ended, err := next.GoOn(t.Context()); err != nil || ended != 1 {
		t.Errorf("%d were gone on with, %v", ended, err)
	}
	if _, err := d.Stat(t.Context(), place); err != nil {
		t.Errorf("what was begun was not ended: %v", err)
	}
	if ended, err := next.GoOn(t.Context()); err != nil || ended != 0 {
		t.Errorf("once more: %d were gone on with, %v", ended, err)
	}
}

// A stage that fails says what became of what it did before: where that could not be taken back, a server may stand still.
func TestAStageThatFailsSaysWhatBecameOfIt(t *testing.T) {
	for undo, want := range map[string]string{"true": "; what it did before is taken back", "echo the disk is gone >&2; exit 1": "; what it did before could not be reverted: undo first: "} {
		r, dir := journal(t)
		sw := func(on, do, undo string) change.Act {
			return change.Act{Switch: &change.Switch{On: on, Inspect: change.Inspection{File: filepath.Join(dir, on)}, After: "yes",
				Do: []change.Op{{Argv: []string{"sh", "-ec", do, "sh", filepath.Join(dir, on)}}}, Undo: []change.Op{{Argv: []string{"sh", "-ec", undo, "sh", filepath.Join(dir, on)}}}}}
		}
		acts := []change.Act{sw("first", `echo yes >"$1"`, undo+`; rm "$1"`), sw("second", "echo no room >&2; exit 1", "true")}
		_, err := r.Stage(t.Context(), Stage{Name: "move", Steps: []change.Prepared{Step(stack.Ref{Kind: "mysql", Name: "3306"}, "move", acts)}})
		if err == nil || !strings.HasPrefix(err.Error(), "move (change 1): ") || !strings.Contains(err.Error(), "no room"+want) || !strings.Contains(hint.Of(err), "plumb history 1") {
			t.Errorf("%v, hint %q", err, hint.Of(err))
		}
		if _, err := r.TakeAway(t.Context(), change.UndoOptions{}); undo != "true" && (err == nil || !strings.Contains(hint.Of(err), "--undo again continues")) {
			t.Errorf("taken away: %v, hint %q", err, hint.Of(err))
		}
	}
}
