package change

import (
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
)

// sleeper is a thing that Inspect does not see while it is called asleep, whatever is in it.
func sleeper(dir string) Act {
	sh := func(script string, more ...string) []Op {
		return []Op{{Argv: append([]string{"sh", "-ec", script, "sh", dir}, more...)}}
	}
	return Act{Make: &Make{
		Thing:     Thing{Name: "the pool", Inspect: &Inspection{Argv: []string{"find", dir, "-name", "awake-*", "-printf", "%f"}}},
		Unchanged: &Inspection{File: dir + "/guid"},
		Do:        sh(`[ ! -e "$1/taken" ] || { echo taken >&2; exit 1; }; echo 4711 >"$1/guid"; : >"$1/awake-{mark}"`), Undo: sh(`rm "$1"/awake-{mark} "$1/guid"`),
		Absent: sh(`[ ! -e "$1/asleep" ] || { echo "$2 sleeps" >&2; exit 1; }`, "{kept}"),
	}}
}

// What is not seen is not taken for gone while it may be there: the undo says so and stays open, until it is back, or somebody leaves it.
func TestWhatIsNotSeenIsNotGone(t *testing.T) {
	t.Parallel()
	for _, forget := range []bool{false, true} {
		dir := t.TempDir()
		k := real(t, hosttest.LiveDoer(t), t.TempDir())
		number, err := applied(t, k, sleeper(dir))
		if err != nil {
			t.Fatal(err)
		}
		name := left(t, dir)
		name = strings.Fields(name)[0]
		if err := os.Rename(dir+"/"+name, dir+"/asleep"); err != nil {
			t.Fatal(err)
		}
		for _, o := range []UndoOptions{{Force: true}, {Keep: true}} { // the second goes on with an undo that had begun
			err = k.Undo(t.Context(), []int{number}, o)
			if !errors.Is(err, errUnseen) || !strings.Contains(err.Error(), "4711 sleeps") || !strings.Contains(hint.Of(err), "--forget") {
				t.Fatal(err)
			}
		}
		all, err := k.Changes(t.Context())
		if err != nil || !all[0].Open() {
			t.Fatalf("it counts as undone: %v", err)
		}
		want, state := "", Undone
		if forget {
			want, state = "asleep guid", Left
		} else if err := os.Rename(dir+"/asleep", dir+"/"+name); err != nil {
			t.Fatal(err)
		}
		if forget {
			err = k.Forget(t.Context(), number, func(*Change, Recorded, error) {})
		} else {
			err = k.Undo(t.Context(), []int{number}, UndoOptions{})
		}
		if err != nil || left(t, dir) != want {
			t.Errorf("%v, left %q", err, left(t, dir))
		}
		if all, err := k.Changes(t.Context()); err != nil || all[0].Acts[0].State != state {
			t.Errorf("%+v, %v", all[0].Acts, err)
		}
	}
}

// Of what was not made nothing is looked for: what is in its place is others'.
func TestWhatWasNotMadeIsNotLookedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir+"/taken", "")
	put(t, dir+"/asleep", "")
	k := real(t, hosttest.LiveDoer(t), t.TempDir())
	if _, err := applied(t, k, sleeper(dir)); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Fatal(err)
	}
	if all, err := k.Changes(t.Context()); err != nil || all[0].Open() || all[0].Acts[0].State != Undone {
		t.Errorf("%+v, %v", all[0].Acts, err)
	}
}
