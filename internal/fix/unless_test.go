package fix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/journal"
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

// The time of a trial is over in time although the clock was set back since.
func TestTryThoughTheClockIsSetBack(t *testing.T) {
	dir := t.TempDir()
	value := filepath.Join(dir, "value")
	if err := os.WriteFile(value, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const ahead, trial = time.Hour, 300 * time.Millisecond
	executor := func(d host.Doer) *change.Executor {
		return &change.Executor{Doer: d, Dir: filepath.Join(dir, "plumb"), Plumb: "test", Now: func() time.Time { return time.Now().Add(ahead) }}
	}
	write := func(text string) []change.Op { return []change.Op{{Write: &change.Write{File: value, Text: text}}} }
	set := change.Act{Switch: &change.Switch{On: "value", Inspect: change.Inspection{File: value}, After: "5", Do: write("5"), Undo: write("{before}")}}
	step := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "x"}, Name: "value"}, From: stack.Int(1), To: stack.Int(5)}
	out, err := executor(hosttest.LiveDoer(t)).Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: step, Recipe: change.Recipe{Acts: []change.Act{set}}}}},
		change.ApplyOptions{Begin: change.Begin{Try: time.Now().Add(ahead + trial)}})
	if err != nil {
		t.Fatal(err)
	}
	u := Undo{Open: func() (*host.LiveDoer, *change.Executor, error) {
		d := hosttest.LiveDoer(t)
		return d, executor(d), nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = u.UnlessConfirmed(ctx, out.Number)
	text, readErr := os.ReadFile(value)
	if err := errors.Join(err, readErr); err != nil || strings.TrimSpace(string(text)) != "1" {
		t.Errorf("%v, %q", err, text)
	}
}

// A journal that cannot be read is no reason to end as if all were well: what was on trial is in force.
func TestTryWithADamagedJournal(t *testing.T) {
	dir := t.TempDir()
	var log journal.Log
	first, err := log.Append(time.Now(), "begin", change.Begin{Version: 1})
	_, err2 := log.Append(time.Now(), "intent", nil)
	third, err3 := log.Append(time.Now(), "end", nil)
	if err := errors.Join(err, err2, err3, os.WriteFile(filepath.Join(dir, "change-000001.journal"), append(first, third...), 0o600)); err != nil {
		t.Fatal(err)
	}
	u := Undo{Open: func() (*host.LiveDoer, *change.Executor, error) {
		d := hosttest.LiveDoer(t)
		return d, &change.Executor{Doer: d, Dir: dir, Plumb: "test", Now: time.Now}, nil
	}}
	if err := u.UnlessConfirmed(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("it ended as if all were well: %v", err)
	}
}

// The dead man's switch waits for whoever is changing this host, however long that takes: nobody else undoes what is on trial.
func TestTryWhileAnotherIsAtWork(t *testing.T) {
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
	step := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "x"}, Name: "value"}, From: stack.Int(1), To: stack.Int(5)}
	other := hosttest.LiveDoer(t)
	out, err := executor(other).Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: step, Recipe: change.Recipe{Acts: []change.Act{set}}}}},
		change.ApplyOptions{Begin: change.Begin{Try: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := other.Lock(t.Context(), filepath.Join(dir, "plumb", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	u := Undo{patience: 1, Open: func() (*host.LiveDoer, *change.Executor, error) {
		if opened++; opened == 3 { // it was refused once
			unlock()
		}
		d := hosttest.LiveDoer(t)
		return d, executor(d), nil
	}}
	err = u.UnlessConfirmed(t.Context(), out.Number)
	text, readErr := os.ReadFile(value)
	if err := errors.Join(err, readErr); err != nil || opened < 4 || strings.TrimSpace(string(text)) != "1" {
		t.Errorf("after %d looks: %v, %q", opened, err, text)
	}
}
