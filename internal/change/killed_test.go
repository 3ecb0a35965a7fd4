package change

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// envKilled has the test that is run once more make a change in a directory, until it is killed.
const envKilled = "PLUMB_TEST_KILLED"

// slowly is an act whose command waits for a file go when it is run for the first time, and fails beside another.
func slowly(dir string) Act {
	sh := func(script string) []Op {
		return []Op{{Argv: []string{"sh", "-ec", `cd "$1"; mkdir busy; ` + script + `; rmdir busy`, "sh", dir}}}
	}
	return Act{Switch: &Switch{On: "the value", From: "1", After: "5", Inspect: Inspection{File: dir + "/value"}, Undo: sh("echo 1 >value"),
		Do: sh(`[ -e begun ] || { : >begun; i=0; while [ ! -e go ] && [ "$((i += 1))" -lt 3000 ]; do sleep 0.02; done; }; echo 5 >value`)}}
}

// TestWhatAKilledPlumbBegan: until the command has ended that a Plumb was running when it was killed, its change is neither taken back nor
// continued, which it would undo, or run beside.
func TestWhatAKilledPlumbBegan(t *testing.T) {
	if dir := os.Getenv(envKilled); dir != "" {
		_, err := real(t, hosttest.LiveDoer(t), dir+"/journal").Apply(t.Context(),
			Draft{Steps: []Prepared{{Step: Step{Knob: knob("a")}, Recipe: Recipe{Acts: []Act{slowly(dir)}}}}}, ApplyOptions{})
		t.Fatalf("it was to be killed: %v", err)
	}
	for _, resumes := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir+"/value", "1\n")
		c := exec.Command(os.Args[0], "-test.run=^TestWhatAKilledPlumbBegan$")
		c.Env = append(os.Environ(), envKilled+"="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { put(t, dir+"/go", "") })
		if err := await.Until(t.Context(), time.Minute, func() (bool, error) { return strings.Contains(left(t, dir), "begun"), nil }); err != nil {
			t.Fatal("it does not begin")
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		k := real(t, hosttest.LiveDoer(t), dir+"/journal")
		goOn := func() error {
			if resumes {
				return k.Resume(t.Context(), 1)
			}
			return k.Undo(t.Context(), []int{1}, UndoOptions{})
		}
		if err := goOn(); !errors.Is(err, host.ErrLocked) || !strings.Contains(err.Error(), " (sh) is still running") || !strings.Contains(hint.Of(err), "wait") || got(t, dir+"/value") != "1" {
			t.Fatalf("resumed: %t. While it runs: %v", resumes, err)
		}
		put(t, dir+"/go", "")
		if err := await.Until(t.Context(), time.Minute, func() (bool, error) { err := goOn(); return !errors.Is(err, host.ErrLocked), err }); err != nil {
			t.Fatalf("resumed: %t. Once it has ended: %v", resumes, err)
		}
		if want := map[bool]string{true: "5", false: "1"}[resumes]; got(t, dir+"/value") != want {
			t.Errorf("resumed: %t, and the value is %q", resumes, got(t, dir+"/value"))
		}
	}
}
