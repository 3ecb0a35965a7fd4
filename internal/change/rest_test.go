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
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// leaving is a thing that leaves something behind when it is removed, which its undo clears.
func leaving(dir string) Act {
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
	return Act{Make: &Make{
		Thing: Thing{Name: "the thing", Inspect: &Inspection{Argv: []string{"find", dir, "-name", "thing-*", "-printf", "%f"}}},
		Do:    sh(`: >"$1/thing-{mark}"; : >"$1/label"`), Undo: sh(`rm "$1/thing-{mark}"`),
		Rest: sh(`[ ! -e "$1/busy" ] || { echo busy >&2; exit 1; }; rm -f "$1/label"`),
	}}
}

// real is an executor on this machine itself.
func real(t *testing.T, d host.Doer, dir string) *Executor {
	t.Helper()
	return &Executor{Doer: d, Dir: dir, Plumb: "test", Now: time.Now}
}

// impatient is a machine on which nobody waits any more once a command has failed.
type impatient struct {
	*host.LiveDoer
	failed context.CancelFunc
}

func (i impatient) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := i.LiveDoer.Run(ctx, argv...)
	if err != nil {
		i.failed()
	}
	return out, err
}

func applied(t *testing.T, k *Executor, a Act) (int, error) {
	t.Helper()
	out, err := k.Apply(t.Context(), Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{a}}}}}, ApplyOptions{})
	return out.Number, err
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func got(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func left(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range names {
		names[i] = filepath.Base(n)
	}
	return strings.Join(names, " ")
}

// Whenever an undo dies, the one that goes on with it clears what the thing has left.
func TestWhatIsLeftIsClearedAfterADeath(t *testing.T) {
	t.Parallel()
	for _, how := range []string{hosttest.Before, hosttest.After} {
		for at := 1; ; at++ {
			live, dir, journal := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
			number, err := applied(t, real(t, live, journal), leaving(dir))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // nobody waits for a dead machine
			err = real(t, hosttest.NewMortal(live, at, how), journal).Undo(ctx, []int{number}, UndoOptions{})
			cancel()
			if err == nil {
				break
			}
			if err := real(t, live, journal).Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || left(t, dir) != "" {
				t.Errorf("dead %s operation %d: %v, left %q", how, at, err, left(t, dir))
			}
		}
	}
}

// What could not be cleared is told, and open until it is, or until somebody ends it.
func TestWhatCannotBeClearedIsTold(t *testing.T) {
	t.Parallel()
	dir, live, journal := t.TempDir(), hosttest.LiveDoer(t), t.TempDir()
	k := real(t, live, journal)
	number, err := applied(t, k, leaving(dir))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/busy", "")
	ctx, cancel := context.WithCancel(t.Context())
	err = real(t, impatient{live, cancel}, journal).Undo(ctx, []int{number}, UndoOptions{Keep: true})
	if !errors.Is(err, errRemains) || !strings.Contains(err.Error(), "busy") || !strings.Contains(hint.Of(err), "--forget") || left(t, dir) != "busy label" {
		t.Fatalf("%v, left %q", err, left(t, dir))
	}
	all, err := k.Changes(t.Context())
	if err != nil || !all[0].Open() {
		t.Errorf("it counts as undone: %v", err)
	}
	if err := k.Forget(t.Context(), number, func(*Change, Recorded, error) {}); err != nil {
		t.Error(err)
	}
	if all, err := k.Changes(t.Context()); err != nil || all[0].Open() || all[0].Acts[0].State != Left || left(t, dir) != "busy label" {
		t.Errorf("%+v, %v", all[0].Acts, err)
	}
}

// A place has one of two states: a third is somebody's, neither taken for done nor taken back.
func TestWhatIsNeitherIsSomebodys(t *testing.T) {
	k, state := real(t, hosttest.LiveDoer(t), t.TempDir()), t.TempDir()+"/state"
	act := func(does string) Act {
		sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", state}}} }
		return Act{Switch: &Switch{On: "the place", Inspect: Inspection{File: state}, From: "none", After: "ours", Either: true, Do: sh("echo " + does + ` >"$1"`), Undo: sh(`echo none >"$1"`)}}
	}
	put(t, state, "none\n")
	if _, err := applied(t, k, act("theirs")); err == nil || !strings.Contains(err.Error(), "is theirs: somebody else changed it") || got(t, state) != "theirs" {
		t.Errorf("%v, %q", err, got(t, state))
	}
	if _, err := applied(t, k, act("ours")); err == nil || got(t, state) != "theirs" {
		t.Errorf("done over what is somebody's: %v, %q", err, got(t, state))
	}
	put(t, state, "none\n")
	number, err := applied(t, k, act("ours"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, state, "theirs\n")
	for _, o := range []UndoOptions{{}, {Force: true}} {
		if err := k.Undo(t.Context(), []int{number}, o); err == nil || got(t, state) != "theirs" {
			t.Errorf("%+v: %v, %q", o, err, got(t, state))
		}
	}
	put(t, state, "ours\n")
	if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || got(t, state) != "none" {
		t.Errorf("%v, %q", err, got(t, state))
	}
}
