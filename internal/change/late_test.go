package change

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// late is a thing whose command goes on when it is killed, as one does that waits in the kernel: it makes the thing once there is a file go.
func late(t *testing.T, dir string) Act {
	t.Helper()
	bin := t.TempDir() + "/make"
	put(t, bin, `#!/bin/sh
[ -n "$LATE" ] || { LATE=1 setsid "$0" "$@" >/dev/null 2>&1 & wait; exit; }
echo begun >"$1/begun" # in the session of its own: what kills the first no longer reaches it
i=0
while [ ! -e "$1/go" ] && [ "$((i += 1))" -lt 1500 ]; do sleep 0.02; done
[ ! -e "$1/go" ] || : >"$1/thing-$2"
`)
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	sh := func(script string) []Op { return []Op{{Argv: []string{"sh", "-ec", script, "sh", dir}}} }
	return Act{Make: &Make{
		Thing: Thing{Name: "the pool", Inspect: &Inspection{Argv: []string{"find", dir, "-name", "thing-*", "-printf", "%f"}}},
		Do:    []Op{{Argv: []string{bin, dir, "{mark}"}}}, Undo: sh(`rm "$1"/thing-{mark}`),
		Absent: sh(`[ ! -e "$1/asleep" ] || { echo "it sleeps" >&2; exit 1; }`),
	}}
}

// begun begins it, and ends as soon as the command runs: on a command line that is told to stop, or in a Plumb that dies.
func begun(t *testing.T, dir, journal string, dies bool) (k *Executor, number int) {
	t.Helper()
	live := hosttest.LiveDoer(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(dir + "/begun"); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var d host.Doer = live
	dead := errors.New("dead")
	if dies {
		d = &host.Hooked{Behind: live, Around: func(_ context.Context, c host.Call, do func() error) error {
			if ctx.Err() != nil {
				return dead
			}
			return do()
		}}
	}
	out, err := real(t, d, journal).Apply(ctx, Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{late(t, dir)}}}}}, ApplyOptions{})
	if err == nil {
		t.Fatal("it was to be killed")
	}
	return real(t, live, journal), out.Number
}

func state(t *testing.T, k *Executor) State {
	t.Helper()
	all, err := k.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Acts[0].State
}

// A command that could not be ended, or goes on after the Plumb that began it has died, may make what nobody sees yet: until it has ended
// neither is its act undone nor begun once more, and what it made is known then.
func TestWhatComesLateIsKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ dies, resumes bool }{"stopped, undone": {}, "dead, undone": {dies: true}, "stopped, continued": {resumes: true}, "dead, continued": {true, true}} {
		dir := t.TempDir()
		k, number := begun(t, dir, t.TempDir(), c.dies)
		want := map[bool]State{true: Begun, false: Failed}[c.dies]
		if is := state(t, k); is != want {
			t.Fatalf("%s: it is %s", name, is)
		}
		goOn := func() error {
			if c.resumes {
				return k.Resume(t.Context(), number)
			}
			return k.Undo(t.Context(), []int{number}, UndoOptions{Force: true})
		}
		if err := goOn(); err == nil || !strings.Contains(err.Error(), "which makes the pool, has not ended") || hint.Of(err) == "" || state(t, k) != want {
			t.Fatalf("%s: while it runs: %v, it is %s", name, err, state(t, k))
		}
		put(t, dir+"/go", "")
		for i := 0; !strings.Contains(left(t, dir), "thing-") && i < 500; i++ {
			time.Sleep(20 * time.Millisecond)
		}
		if err := goOn(); err != nil {
			t.Fatalf("%s: once it has ended: %v", name, err)
		}
		if c.resumes {
			if is := state(t, k); is != Done || !strings.Contains(left(t, dir), "thing-") {
				t.Errorf("%s: it is %s, left %q", name, is, left(t, dir))
			}
			if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil {
				t.Error(err)
			}
		}
		if is := state(t, k); is != Undone || left(t, dir) != "begun go" {
			t.Errorf("%s: it is %s, left %q", name, is, left(t, dir))
		}
	}
}

// What was ended before its end may be there though nobody sees it, as a pool that a start of the machine has not imported: unlike of
// what failed by itself, that is looked for.
func TestWhatWasCutShortIsLookedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, number := begun(t, dir, t.TempDir(), false)
	put(t, dir+"/go", "")
	for i := 0; !strings.Contains(left(t, dir), "thing-") && i < 500; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	made := strings.Fields(left(t, dir))[2]
	if err := os.Rename(dir+"/"+made, dir+"/asleep"); err != nil {
		t.Fatal(err)
	}
	if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); !errors.Is(err, errUnseen) || !strings.Contains(err.Error(), "it sleeps") {
		t.Errorf("not seen: %v", err)
	}
	if err := os.Rename(dir+"/asleep", dir+"/"+made); err != nil {
		t.Fatal(err)
	}
	if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || left(t, dir) != "begun go" {
		t.Errorf("seen again: %v, left %q", err, left(t, dir))
	}
}
