package change

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// given is a directory that was made and closed to others, as two acts; bare tells that what is mounted on it hides its mode.
func given(at string, bare bool) []Act {
	s := &Switch{On: "the mode of " + at, After: "700", Exact: true, Inspect: Inspection{Argv: []string{"stat", "-c", "%a", at}},
		Do: Commands([]string{"chmod", "700", at}), Undo: Commands([]string{"chmod", "{before}", at})}
	if bare {
		s.After, s.Inspect.Bare, s.Inspect.Match, s.Undo = "7", at, "^(7)00$", Commands([]string{"chmod", "755", at})
	} else {
		s.Inspect.Dir, s.Still = at, &Still{Empty: at, Hint: "move it away"}
	}
	return []Act{{Make: &Make{Thing: Thing{Path: at}, Directory: &Dir{Perm: 0o755, UID: -1, GID: -1}}}, {Switch: s}}
}

// Of a directory that no longer exists nothing is left to take back: the undo ends.
func TestWhatIsGoneIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, o := range []UndoOptions{{}, {Keep: true}, {Force: true}} {
		for _, bare := range []bool{false, true} {
			at := t.TempDir() + "/data"
			k := real(t, hosttest.LiveDoer(t), t.TempDir())
			out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: given(at, bare)}}}}, ApplyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			err = k.Undo(t.Context(), []int{out.Number}, o)
			if all, failed := k.Changes(t.Context()); err != nil || failed != nil || all[0].Open() {
				t.Errorf("%+v, bare %v: %v, %v, %+v", o, bare, err, failed, all[0].Acts)
			}
		}
	}
}

// What was made for data is as it was while any are in it, even by force, and the undo can be ended by leaving it so.
func TestWhatHoldsDataStaysAsItIs(t *testing.T) {
	t.Parallel()
	at := t.TempDir() + "/data"
	k := real(t, hosttest.LiveDoer(t), t.TempDir())
	out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: given(at, false)}}}}, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, at+"/ibdata1", "theirs")
	for _, o := range []UndoOptions{{}, {Force: true}, {Keep: true}} {
		err := k.Undo(t.Context(), []int{out.Number}, o)
		st, failed := os.Stat(at)
		if failed != nil || st.Mode().Perm() != 0o700 {
			t.Fatalf("%+v: %v, %v", o, st, failed)
		}
		d, drifted := errors.AsType[*Drifted](err)
		if !o.Keep && (!drifted || d.Drifts[0].Place != "the mode of "+at || !strings.Contains(err.Error(), "it holds ibdata1")) {
			t.Errorf("%+v: %v", o, err)
		}
		all, failed := k.Changes(t.Context())
		if failed != nil || all[0].Open() == o.Keep || o.Keep && (err != nil || all[0].Acts[0].State != Left || all[0].Acts[1].State != Left) {
			t.Errorf("%+v: %v, %v, %+v", o, err, failed, all[0].Acts)
		}
	}
}

// What others have put into what was made is seen before anything is touched, also where a switch was turned in it since.
func TestWhatHoldsDataIsSeenFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, state := dir+"/data", dir+"/state"
	put(t, state, "none")
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", state}}} }
	acts := append(given(at, false)[:1], Act{Switch: &Switch{On: "the mount", Inspect: Inspection{File: state}, From: "none", After: "ours", Do: sh(`echo ours >"$1"`), Undo: sh(`echo none >"$1"`)}})
	k := real(t, hosttest.LiveDoer(t), t.TempDir())
	stage := func(acts []Act) {
		t.Helper()
		draft := Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: acts}}}}
		if _, err := k.Apply(t.Context(), draft, ApplyOptions{Begin: Begin{Of: "provision tank"}}); err != nil {
			t.Fatal(err)
		}
	}
	stage(acts)
	put(t, at+"/ibdata1", "theirs")
	for i, want := range []string{"--keep leaves these", "undo change 2, which is a later stage"} {
		err := k.Undo(t.Context(), []int{1}, UndoOptions{})
		if d, drifted := errors.AsType[*Drifted](err); !drifted || d.Drifts[0].Place != at || got(t, state) != "ours" || !strings.Contains(hint.Of(err), want) {
			t.Errorf("%v (%s), and the switch is %s", err, hint.Of(err), got(t, state))
		}
		stage(given(fmt.Sprint(dir, "/later", i), false))
	}
}

// The state of the topmost directory of a mount is not that of the mount point below, nor that of another mount.
func TestStateOfWhatIsMounted(t *testing.T) {
	const table = "36 25 0:31 / /srv/db rw - zfs tank/db rw\n37 25 0:32 / /srv/other rw - zfs tank/theirs rw\n"
	h := hosttest.Map{Files: map[string]string{"/proc/self/mountinfo": table}, Outputs: map[string]string{}, Stats: map[string]host.Stat{}}
	for _, at := range []string{"/srv/db", "/srv/other", "/srv/bare"} {
		h.Outputs["stat -c %U "+at], h.Stats[at] = "root\n", host.Stat{}
	}
	for at, want := range map[string]string{"/srv/db": "root", "/srv/other": None, "/srv/bare": None} {
		l := Inspection{Dir: at, Top: "zfs tank/db", Argv: []string{"stat", "-c", "%U", at}}
		if got, err := inspect(t.Context(), h, l); got != want || err != nil {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
	l := Inspection{Bare: "/srv/db", Argv: []string{"stat", "-c", "%U", "/srv/db"}}
	if got, err := inspect(t.Context(), h, l); !errors.Is(err, errHidden) {
		t.Errorf("what is hidden is %q, %v", got, err)
	}
	s := &Switch{On: "x", After: "root", Inspect: l}
	d, err := s.drift(t.Context(), &Executor{Doer: hosttest.NewRefusing(h)}, &Recorded{State: Done})
	if err != nil || d == nil || !d.Others || !strings.Contains((&Drifted{[]Drift{*d}}).Error(), "x was left as root and is hidden by what is mounted on it") {
		t.Errorf("%+v, %v", d, err)
	}
}
