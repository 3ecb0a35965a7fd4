package changetest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"plumb/internal/change"
)

// installs is what an installation is: several steps, of which each may be the last; a list that tells of
// others' packages too; and something that holds data once it is there.
func installs(dir string) *change.Switch {
	list := dir + "/status"
	return &change.Switch{On: "the packages a, b", From: change.None, Exact: true,
		Inspect: change.Inspection{File: list, Among: []string{"a", "b"}}, After: "a 1\nb 2",
		Still: &change.Still{Inspect: change.Inspection{Argv: []string{"find", dir, "-mindepth", "2", "-path", dir + "/data/*", "-printf", "%f\\n"}}, State: change.None, Hint: "save them"},
		Do: []change.Op{
			{Long: true, Argv: []string{"sh", "-ec", `grep -q '^b ' "$1/status" || echo "b 2" >>"$1/status"; mkdir -p "$1/data"`, "sh", dir}},
			{Argv: []string{"sh", "-ec", `grep -q '^a ' "$1/status" || echo "a 1" >>"$1/status"`, "sh", dir}}},
		UndoNone: []change.Op{{Argv: []string{"sh", "-ec", `sed -i '/^[ab] /d' "$1/status"; rm -rf "$1/data"`, "sh", dir}}}}
}

func TestInstallAndTakeAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/status", []byte("c 3\nab 1\n"), 0o644))
	c := onDisk(t, dir, change.Act{Switch: installs(dir)})
	c.Makes = false
	c.State = func() string {
		text, err := os.ReadFile(dir + "/status")
		_, gone := os.Stat(dir + "/data")
		return fmt.Sprint(string(text), err, gone != nil)
	}
	Run(t, c)
	c.Makes = true // it is gone on with too
	must(t, resumes(t.Context(), c))
}

// TestFromAnotherState: what the plan found is no longer so.
func TestFromAnotherState(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/status", []byte("b 1\n"), 0o644))
	c := onDisk(t, dir, change.Act{Switch: installs(dir)})
	draft, err := c.draft(t.Context())
	must(t, err)
	_, err = c.executor(c.Doer).Apply(t.Context(), draft, change.ApplyOptions{})
	if r, refused := errors.AsType[*change.Refusal](err); !refused || r.What != "make the plan again" {
		t.Errorf("done where one of the packages came in another way: %v", err)
	}
}

// TestStillIsHeeded: data in what would be taken away keep it, by force too, and are left with --keep.
func TestStillIsHeeded(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/status", nil, 0o644))
	c := onDisk(t, dir, change.Act{Switch: installs(dir)})
	draft, err := c.draft(t.Context())
	must(t, err)
	k := c.executor(c.Doer)
	out, err := k.Apply(t.Context(), draft, change.ApplyOptions{})
	must(t, err)
	must(t, os.WriteFile(dir+"/data/orders", nil, 0o644))
	for _, o := range []change.UndoOptions{{}, {Force: true}} {
		err := k.Undo(t.Context(), []int{out.Number}, o)
		if _, drifted := errors.AsType[*change.Drifted](err); !drifted {
			t.Errorf("undone (%+v) over somebody's data: %v", o, err)
		}
	}
	must(t, k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{Keep: true}))
	if _, err := os.Stat(dir + "/data/orders"); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
