package change

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
)

// unseenFrom makes a thing in which only its undo sees what others put there, as in a filesystem that is not mounted.
func unseenFrom(dir string) Act {
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
	return Act{Make: &Make{Thing: Thing{Name: "made", Inspect: &Inspection{Argv: []string{"find", dir, "-name", "made-*", "-printf", "%f"}}},
		Do: sh(`: >"$1/made-{mark}"`), Undo: sh(`[ ! -e "$1/theirs" ] || { echo "it holds theirs" >&2; exit 99; }; rm "$1/made-{mark}"`)}}
}

// TestWhatOnlyItsUndoSeesIsKept: it is not removed, by force neither; leaving it ends the undo.
func TestWhatOnlyItsUndoSeesIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := real(t, hosttest.LiveDoer(t), t.TempDir())
	out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{unseenFrom(dir)}}}}}, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made := left(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	change := func() *Change {
		all, err := k.Changes(t.Context())
		if err != nil || left(t, dir) != made+" theirs" {
			t.Fatalf("%v, left %q", err, left(t, dir))
		}
		return all[0]
	}
	for _, o := range []UndoOptions{{}, {Force: true}} {
		began := time.Now()
		err := k.Undo(t.Context(), []int{out.Number}, o)
		if d, ok := errors.AsType[*Drifted](err); !ok || !strings.Contains(d.Error(), "made was left as empty and is not: it holds theirs") || !strings.HasPrefix(hint.Of(d), "--keep leaves these") || !change().Open() {
			t.Errorf("%+v: %v", o, err)
		}
		if time.Since(began) > removePatience/2 {
			t.Errorf("%+v: it was tried again and again", o)
		}
	}
	if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{Keep: true}); err != nil {
		t.Error(err)
	}
	if p := change().Acts[0]; p.State != Left || !strings.Contains(p.Why, "it holds theirs") {
		t.Errorf("%+v", p)
	}
}

// TestAStepOfWhichSomethingIsLeftIsNotTakenBack: who relies on that would remove what is still in use.
func TestAStepOfWhichSomethingIsLeftIsNotTakenBack(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{"an act", "the proof"} {
		dir := t.TempDir()
		k := real(t, hosttest.LiveDoer(t), t.TempDir())
		then := "echo yes"
		if fails == "an act" {
			then = "exit 1"
		}
		next := Act{Switch: &Switch{On: "next", Inspect: Inspection{File: dir + "/next"}, After: "yes", Exact: true,
			Do: []Op{{Argv: []string{"sh", "-ec", `: >"$1/theirs"; ` + then + ` >"$1/next"`, "sh", dir}}}, Undo: []Op{{Argv: []string{"rm", "-f", dir + "/next"}}}}}
		steps := []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{unseenFrom(dir), next}}}}
		out, err := k.Apply(t.Context(), Draft{Steps: steps}, ApplyOptions{Proof: func(_ context.Context) error { return errors.New("not well") }})
		if err == nil || !strings.HasPrefix(out.Steps[0].Back, "taken back, except for what was changed since by somebody: made was left as empty and is not: it holds theirs") {
			t.Errorf("%s: %v, %q", fails, err, out.Steps[0].Back)
		}
	}
}

// TestAServerIsNotStoppedForNothing: what must be so for a server's data to come back is looked at before it is stopped, also where
// somebody forces the undo, or leaves what was changed.
func TestAServerIsNotStoppedForNothing(t *testing.T) {
	t.Parallel()
	for _, data := range []bool{true, false} {
		dir := t.TempDir()
		k := real(t, hosttest.LiveDoer(t), t.TempDir())
		sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
		acts := []Act{
			{Switch: &Switch{On: "the data", Inspect: Inspection{File: dir + "/data"}, After: "new", Do: sh(`echo new >"$1/data"; echo old >"$1/kept"`), Undo: sh(`rm "$1/data"`),
				Still: &Still{Inspect: Inspection{File: dir + "/kept"}, State: "old", Hint: "bring it back"}}},
			{Switch: &Switch{On: "the server", Inspect: Inspection{File: dir + "/runs"}, After: "yes", Exact: true, Do: sh(`echo yes >"$1/runs"`), Undo: sh(`rm "$1/runs"`)}},
		}
		step := Step{Knob: knob("a"), Data: data}
		out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: step, Recipe: Recipe{Acts: acts}}}}, ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(dir + "/kept"); err != nil {
			t.Fatal(err)
		}
		for _, o := range []UndoOptions{{}, {Force: true}, {Keep: true}} {
			err := k.Undo(t.Context(), []int{out.Number}, o)
			if d, ok := errors.AsType[*Drifted](err); data && (!ok || d.Hint() != "bring it back" || left(t, dir) != "data runs") {
				t.Errorf("%+v: %v, left %q", o, err, left(t, dir))
			}
		}
		if !data && left(t, dir) != "data" {
			t.Errorf("of no data: left %q", left(t, dir))
		}
	}
}

// TestWhatIsDoneInAnyCaseLooksFirst: what is taken back whatever is read of it is not while something stands in the way.
func TestWhatIsDoneInAnyCaseLooksFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := real(t, hosttest.LiveDoer(t), t.TempDir())
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
	a := Act{Switch: &Switch{On: "the server", Inspect: Inspection{File: dir + "/listens"}, After: "yes", Always: true, Do: sh(`echo yes >"$1/listens"`), Undo: sh(`rm -f "$1/listens"; : >"$1/stopped"`),
		Still: &Still{Inspect: Inspection{File: dir + "/kept"}, State: "old"}}}
	out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{a}}}}}, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir + "/listens"); err != nil { // it crashed
		t.Fatal(err)
	}
	for _, o := range []UndoOptions{{}, {Force: true}} {
		if d, ok := errors.AsType[*Drifted](k.Undo(t.Context(), []int{out.Number}, o)); !ok || left(t, dir) != "" {
			t.Errorf("%+v: %v, left %q", o, d, left(t, dir))
		}
	}
	if err := os.WriteFile(dir+"/kept", []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil || left(t, dir) != "kept stopped" {
		t.Errorf("%v, left %q", err, left(t, dir))
	}
}
