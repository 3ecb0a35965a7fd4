package fix

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// A change that is confirmed between the look at the journal and the undo of the dead man's switch stays.
func TestConfirmedAtTheLastMoment(t *testing.T) {
	dir := t.TempDir()
	value := filepath.Join(dir, "value")
	if err := os.WriteFile(value, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	executor := func(d host.Doer) *change.Executor {
		return &change.Executor{Doer: d, Dir: filepath.Join(dir, "plumb"), Plumb: "test", Now: time.Now}
	}
	write := func(text string) []change.Op { return []change.Op{{Write: &change.Write{File: value, Text: text}}} }
	set := change.Act{Switch: &change.Switch{On: "value", Inspect: change.Inspection{File: value}, After: "5", Do: write("5"), Undo: write("{before}")}}
	k := executor(hosttest.LiveDoer(t))
	step := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "x"}, Name: "value"}, From: stack.Int(1), To: stack.Int(5)}
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: step, Recipe: change.Recipe{Acts: []change.Act{set}}}}},
		change.ApplyOptions{Begin: change.Begin{Try: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	u := Undo{Open: func() (*host.LiveDoer, *change.Executor, error) {
		if opened++; opened == 2 { // the journal was read, and the change is taken back next
			if _, err := k.Confirm(t.Context(), out.Number); err != nil {
				return nil, nil, err
			}
		}
		d := hosttest.LiveDoer(t)
		return d, executor(d), nil
	}}
	err = u.UnlessConfirmed(t.Context(), out.Number)
	text, readErr := os.ReadFile(value)
	if err := errors.Join(err, readErr); err != nil || opened < 3 || strings.TrimSpace(string(text)) != "5" {
		t.Errorf("after %d looks: %v, %q", opened, err, text)
	}
}
