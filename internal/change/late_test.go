package change

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
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

// begun begins it, and is told to stop as soon as the command runs.
func begun(t *testing.T, dir string) (k *Executor, number int) {
	t.Helper()
	k = real(t, hosttest.LiveDoer(t), t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(dir + "/begun"); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	out, err := k.Apply(ctx, Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{late(t, dir)}}}}}, ApplyOptions{})
	if err == nil {
		t.Fatal("it was to be stopped")
	}
	return k, out.Number
}

func state(t *testing.T, k *Executor) State {
	t.Helper()
	all, err := k.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Acts[0].State
}

// goes lets the command go on, and waits for what it makes.
func goes(t *testing.T, dir string) {
	t.Helper()
	put(t, dir+"/go", "")
	if err := await.Until(t.Context(), time.Minute, func() (bool, error) { return strings.Contains(left(t, dir), "thing-"), nil }); err != nil {
		t.Fatal("it makes nothing")
	}
}

// A command that could not be ended may make what nobody sees yet: until it has ended, its act is neither undone nor begun once more, and
// what it made is known then.
func TestWhatComesLateIsKnown(t *testing.T) {
	t.Parallel()
	for name, resumes := range map[string]bool{"undone": false, "continued": true} {
		dir := t.TempDir()
		k, number := begun(t, dir)
		if is := state(t, k); is != Failed {
			t.Fatalf("%s: it is %s", name, is)
		}
		goOn := func() error {
			if resumes {
				return k.Resume(t.Context(), number)
			}
			return k.Undo(t.Context(), []int{number}, UndoOptions{Force: true})
		}
		if err := goOn(); err == nil || !strings.Contains(err.Error(), "which makes the pool, has not ended") || hint.Of(err) == "" || state(t, k) != Failed {
			t.Fatalf("%s: while it runs: %v, it is %s", name, err, state(t, k))
		}
		goes(t, dir)
		if err := goOn(); err != nil {
			t.Fatalf("%s: once it has ended: %v", name, err)
		}
		if resumes {
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
	k, number := begun(t, dir)
	goes(t, dir)
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
