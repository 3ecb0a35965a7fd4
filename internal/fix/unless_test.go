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

// trial is a value that was 1, and that a change on trial has set to 5.
type trial struct {
	state, value string // the directory of the journal; the file of the value
	now          func() time.Time
	number       int // of the change
}

func onTrial(t *testing.T, now func() time.Time, until time.Time) trial {
	t.Helper()
	dir := t.TempDir()
	o := trial{state: filepath.Join(dir, "plumb"), value: filepath.Join(dir, "value"), now: now}
	if err := os.WriteFile(o.value, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write := func(text string) []change.Op { return []change.Op{{Write: &change.Write{File: o.value, Text: text}}} }
	set := change.Act{Switch: &change.Switch{On: "value", Inspect: change.Inspection{File: o.value}, After: "5", Do: write("5"), Undo: write("{before}")}}
	step := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "x"}, Name: "value"}, From: stack.Int(1), To: stack.Int(5)}
	out, err := o.executor(hosttest.LiveDoer(t)).Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: step, Recipe: change.Recipe{Acts: []change.Act{set}}}}},
		change.ApplyOptions{Begin: change.Begin{Try: until}})
	if err != nil {
		t.Fatal(err)
	}
	o.number = out.Number
	return o
}

func (o trial) executor(d host.Doer) *change.Executor {
	return &change.Executor{Doer: d, Dir: o.state, Plumb: "test", Now: o.now}
}

// opened gives what an undo works with.
func (o trial) opened(t *testing.T) (*host.LiveDoer, *change.Executor, error) {
	d := hosttest.LiveDoer(t)
	return d, o.executor(d), nil
}

// undo has the dead man's switch end, and reads the value then.
func (o trial) undo(ctx context.Context, u Undo) (value string, err error) {
	err = u.UnlessConfirmed(ctx, o.number)
	text, unread := os.ReadFile(o.value)
	return strings.TrimSpace(string(text)), errors.Join(err, unread)
}

// A change that is confirmed between the look at the journal and the undo of the dead man's switch stays.
func TestConfirmedAtTheLastMoment(t *testing.T) {
	o, opened := onTrial(t, time.Now, time.Now()), 0
	u := Undo{Open: func() (*host.LiveDoer, *change.Executor, error) {
		if opened++; opened == 2 { // the journal was read, and the change is taken back next
			if _, err := o.executor(hosttest.LiveDoer(t)).Confirm(t.Context(), o.number); err != nil {
				return nil, nil, err
			}
		}
		return o.opened(t)
	}}
	if value, err := o.undo(t.Context(), u); err != nil || opened < 3 || value != "5" {
		t.Errorf("after %d looks: %v, %q", opened, err, value)
	}
}

// The time of a trial is over in time although the clock was set back since.
func TestTryThoughTheClockIsSetBack(t *testing.T) {
	const ahead, lasts = time.Hour, 300 * time.Millisecond
	o := onTrial(t, func() time.Time { return time.Now().Add(ahead) }, time.Now().Add(ahead+lasts))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	u := Undo{Open: func() (*host.LiveDoer, *change.Executor, error) { return o.opened(t) }}
	if value, err := o.undo(ctx, u); err != nil || value != "1" {
		t.Errorf("%v, %q", err, value)
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
	o, opened := onTrial(t, time.Now, time.Now()), 0
	unlock, err := hosttest.LiveDoer(t).Lock(t.Context(), filepath.Join(o.state, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	u := Undo{patience: 1, Open: func() (*host.LiveDoer, *change.Executor, error) {
		if opened++; opened == 3 { // it was refused once
			unlock()
		}
		return o.opened(t)
	}}
	if value, err := o.undo(t.Context(), u); err != nil || opened < 4 || value != "1" {
		t.Errorf("after %d looks: %v, %q", opened, err, value)
	}
}
