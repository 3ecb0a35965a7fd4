package fix_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A journal that somebody else could have written is shown with what it would
// run, and not acted on.
func TestUndoOfASomebodyElsesJournal(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give a journal to somebody else")
	}
	dir := t.TempDir()
	state, ran := filepath.Join(dir, "state"), filepath.Join(dir, "ran")
	must(t, os.Mkdir(state, 0o755))
	must(t, os.WriteFile(state+"/change-000001.journal", journalThatRuns(t, "touch", ran), 0o644))
	for _, owner := range []struct {
		dir, file int
		mode      os.FileMode
	}{{65534, 65534, 0o755}, {65534, 0, 0o755}, {0, 65534, 0o755}, {0, 0, 0o777}} {
		must(t, os.Chown(state, owner.dir, 0))
		must(t, os.Chmod(state, owner.mode))
		must(t, os.Chown(state+"/change-000001.journal", owner.file, 0))
		out, _ := plumb(t, 0, "undo", "--state", state, "--dry-run")
		reads(t, out, `back to z`, `runs  touch`)
		_, errs := plumb(t, 3, "undo", "--state", state, "--yes")
		reads(t, errs, `^plumb: undo what the journal says: .*(belongs to user 65534|can be written to by others)`, `^hint: first read its contents`)
		if _, err := os.Lstat(ran); err == nil {
			t.Fatalf("%+v: it was run", owner)
		}
	}
	must(t, os.Chmod(state, 0o755))
	plumb(t, 3, "undo", "--state", state, "--yes") // its own: it runs, and the state is not reached
	if _, err := os.Lstat(ran); err != nil {
		t.Error("of root's own journal nothing was run")
	}
}
