package rollback

import (
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The clones of a rollback that was undone are gone. Those of one that was forgotten may be what the server runs on.
func TestForgottenIsNotTakenBack(t *testing.T) {
	const clone = `: >"$1/clone-{mark}" # zfs clone`
	for _, forget := range []bool{false, true} {
		dir := t.TempDir()
		k := &change.Executor{Doer: hosttest.LiveDoer(t), Dir: filepath.Join(dir, "plumb"), Plumb: "test", Now: time.Now}
		act := change.Act{Make: &change.Make{
			Thing: change.Thing{Name: "the clone", Inspect: &change.Inspection{Argv: []string{"find", dir, "-name", "clone-*", "-printf", "%f"}}},
			Do:    change.Commands([]string{"sh", "-ec", clone, "sh", dir, "tank/db@ready"}), Undo: change.Commands([]string{"sh", "-ec", `rm "$1/clone-{mark}"`, "sh", dir}),
		}}
		step := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "3306"}, Name: Knob}}
		out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: step, Recipe: change.Recipe{Acts: []change.Act{act}}}}}, change.ApplyOptions{})
		must(t, err)
		r := Rollback{Executor: k}
		if r.takenBack(t.Context(), "@ready") {
			t.Error("taken back while it is in force")
		}
		if forget {
			must(t, k.Forget(t.Context(), out.Number, func(*change.Change, change.Recorded, error) {}))
		} else {
			must(t, k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}))
		}
		if r.takenBack(t.Context(), "@ready") == forget {
			t.Errorf("forgotten %t, taken back %t", forget, !forget)
		}
	}
}
