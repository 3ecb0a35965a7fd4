package change

import (
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
)

// swappedData is what was kept of a server's data, and the packages under which they are since.
func swappedData(dir string) []Act {
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
	put := func(version string) string { return `printf 'db ` + version + ` installed\n' >"$1/packages"` }
	return []Act{
		{Make: &Make{Thing: Thing{Name: "what was kept", Inspect: &Inspection{Argv: []string{"find", dir, "-name", "kept-*", "-printf", "%f"}}},
			Do: sh(`: >"$1/kept-{mark}"`), Undo: sh(`rm "$1/kept-{mark}"`)}},
		{Switch: &Switch{On: "the packages", Inspect: Inspection{File: dir + "/packages"}, From: "db 1 installed", After: "db 2.0 installed", Later: `db [^ ]+ installed`, Exact: true,
			Do: sh(put("2.0")), Undo: sh(`[ ! -e "$1/full" ]; ` + put("1"))}},
	}
}

// applyTo applies acts as one step, which is of all data of a server or not.
func applyTo(t *testing.T, k *Executor, data bool, acts []Act) (int, error) {
	t.Helper()
	out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a"), Data: data}, Recipe: Recipe{Acts: acts}}}}, ApplyOptions{})
	return out.Number, err
}

// Where the data of a server were replaced, the first act that cannot be taken back ends the undo: what was kept of the data goes only
// once they are in their place. Elsewhere the rest is taken back.
func TestWhatWasKeptOfDataGoesLast(t *testing.T) {
	t.Parallel()
	for _, data := range []bool{true, false} {
		for _, o := range []UndoOptions{{}, {Keep: true}, {Force: true}} {
			dir := t.TempDir()
			put(t, dir+"/packages", "db 1 installed\n")
			k := real(t, hosttest.LiveDoer(t), t.TempDir())
			number, err := applyTo(t, k, data, swappedData(dir))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir+"/full", "")
			if err := k.Undo(t.Context(), []int{number}, o); err == nil || strings.Contains(left(t, dir), "kept-") != data {
				t.Errorf("data %v, %+v: %v, left %q", data, o, err, left(t, dir))
			}
			if err := os.Remove(dir + "/full"); err != nil {
				t.Fatal(err)
			}
			if err := k.Undo(t.Context(), []int{number}, o); err != nil || left(t, dir) != "packages" || got(t, dir+"/packages") != "db 1 installed" {
				t.Errorf("data %v, %+v: %v, left %q", data, o, err, left(t, dir))
			}
		}
	}
}

// What updates have made of a state is taken back like it; anything else is somebody's.
func TestUpdatesAreTakenBackToo(t *testing.T) {
	t.Parallel()
	for now, ok := range map[string]bool{"db 2.7 installed": true, "db 2.7 half-configured": false, "xdb 2.7 installed": false, "db 2.7 installed\nother 1 installed": false} {
		dir := t.TempDir()
		put(t, dir+"/packages", "db 1 installed\n")
		k := real(t, hosttest.LiveDoer(t), t.TempDir())
		number, err := applyTo(t, k, true, swappedData(dir))
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir+"/packages", now+"\n")
		err = k.Undo(t.Context(), []int{number}, UndoOptions{})
		_, drifted := errors.AsType[*Drifted](err)
		if (err == nil) != ok || drifted == ok || (got(t, dir+"/packages") == "db 1 installed") != ok {
			t.Errorf("%q: %v, is %q", now, err, got(t, dir+"/packages"))
		}
	}
}

// What a person can do about what is in the way is said before anything is touched.
func TestHintOfWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir+"/packages", "db 1 installed\n")
	acts := swappedData(dir)
	acts[1].Switch.Still = &Still{Inspect: Inspection{File: dir + "/held"}, State: None, Hint: "apt-mark unhold db"}
	k := real(t, hosttest.LiveDoer(t), t.TempDir())
	number, err := applyTo(t, k, true, acts)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/held", "db\n")
	for _, o := range []UndoOptions{{}, {Force: true}} {
		err := k.Undo(t.Context(), []int{number}, o)
		if err == nil || hint.Of(err) != "apt-mark unhold db" || got(t, dir+"/packages") != "db 2.0 installed" || !strings.Contains(left(t, dir), "kept-") {
			t.Errorf("%+v: %v (%s), left %q", o, err, hint.Of(err), left(t, dir))
		}
	}
}
