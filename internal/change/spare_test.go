package change

import (
	"testing"

	"plumb/internal/host/hosttest"
)

// swapped makes a thing in two ways, and then does what lets others write to both, unless it fails.
func swapped(dir string, fails bool, from string) []Act {
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
	do := `: >"$1/in-use"`
	if fails {
		do = "exit 1"
	}
	return []Act{
		{Make: &Make{Thing: Thing{Name: "made", Inspect: &Inspection{Argv: []string{"find", dir, "-name", "made-*", "-printf", "%f"}}},
			Do: sh(`: >"$1/made-{mark}"`), Undo: sh(`rm "$1/made-{mark}"`), Spare: Spare{Keep: sh(`mv "$1/made-{mark}" "$1/kept-made"`), KeepFrom: from}}},
		{Switch: &Switch{On: "copied", Inspect: Inspection{File: dir + "/copied"}, After: "yes", Exact: true,
			Do: sh(`echo yes >"$1/copied"`), Undo: sh(`rm "$1/copied"`), Spare: Spare{Keep: sh(`mv "$1/copied" "$1/kept-copied"`), KeepFrom: from}}},
		{Switch: &Switch{On: "the swap", Inspect: Inspection{File: dir + "/in-use"}, After: "", Exact: true, Do: sh(do), Undo: sh(`rm -f "$1/in-use"`)}},
	}
}

// TestWhatOthersMayHaveWrittenIsSpared: once what lets others write was begun, an undo puts aside what was made, whatever became of that
// since; before, it is removed; and where nobody knows from when on, as in a journal of an earlier Plumb, it is put aside.
func TestWhatOthersMayHaveWrittenIsSpared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		acts  int
		fails bool
		from  string
		want  string
	}{
		"swapped":          {3, false, "the swap", "kept-copied kept-made"},
		"the swap failed":  {3, true, "the swap", "kept-copied kept-made"},
		"before the swap":  {2, false, "the swap", ""},
		"of another Plumb": {2, false, "", "kept-copied kept-made"},
	} {
		dir := t.TempDir()
		k := real(t, hosttest.LiveDoer(t), t.TempDir())
		out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: swapped(dir, test.fails, test.from)[:test.acts]}}}}, ApplyOptions{})
		if (err != nil) != test.fails {
			t.Fatalf("%s: %v", name, err)
		}
		all, err := k.Changes(t.Context())
		if err != nil || all[0].Acts[0].Spared() != (test.want != "") {
			t.Errorf("%s: %v, and it says that it is removed otherwise", name, err)
		}
		if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil || left(t, dir) != test.want {
			t.Errorf("%s: %v, left %q", name, err, left(t, dir))
		}
	}
}
