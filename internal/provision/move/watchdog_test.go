package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// restless is a machine on which something happens when a directory gets another name, and that may die then.
type restless struct {
	*host.LiveDoer
	renames func(from string, do func() error) error
	dead    *bool
}

func (r restless) Rename(ctx context.Context, from, to string) error {
	return r.renames(from, func() error { return r.LiveDoer.Rename(ctx, from, to) })
}

var errDead = errors.New("the machine is dead")

func (r restless) Append(ctx context.Context, name string, data []byte) error {
	if *r.dead {
		return errDead
	}
	return r.LiveDoer.Append(ctx, name, data)
}

// watched moves the toy while a watchdog starts it again, after nobody was seen in its directory and before that gets another name.
func (y *toy) watched(dies bool) (change.Outcome, error) {
	y.t.Helper()
	dead := false
	draft, _ := y.draft()
	return y.executor(restless{y.d, func(from string, do func() error) error {
		if from != y.data {
			return do()
		}
		y.up()
		if err := do(); err != nil || !dies {
			return err
		}
		dead = true
		return errDead
	}, &dead}).Apply(y.t.Context(), draft, change.ApplyOptions{})
}

// A server that a watchdog starts in the old directory at the last moment runs on there, and nothing that it was promised is lost.
func TestWatchdogStartsTheServer(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	beside := y.untouched()
	out, err := y.watched(false)
	if err == nil || !strings.Contains(err.Error(), "was started again while") || !strings.Contains(hint.Of(err), "whatever restarts it") || out.Steps[0].Back != change.TakenBack {
		t.Fatalf("%v, hint %q, %+v", err, hint.Of(err), out.Steps[0].Back)
	}
	y.asBefore("started by a watchdog", beside)
}

// Killed at that moment too, what the server wrote in the old directory is neither left behind nor overwritten by the copy of before.
func TestWatchdogStartsTheServerOfADeadPlumb(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		t.Run(fmt.Sprint("resumes-", resumes), func(t *testing.T) {
			y := newToy(t, t.TempDir())
			y.mover()
			beside := y.untouched()
			out, err := y.watched(true)
			if !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			sh(t, y.stop[2])
			if resumes {
				must(t, y.executor(y.d).Resume(t.Context(), out.Number))
				y.kept("gone on")
			}
			y.undo(change.UndoOptions{})
			y.asBefore("undone", beside)
		})
	}
}

// A server that a start of the machine, or somebody, has started in its new place before Plumb does is stopped by an undo like any other.
func TestServerThatSomebodyElseStarted(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	sh(t, `mount -t tmpfs -o size=64m,mode=755 none "$1/new"`, y.dir)
	beside := y.untouched()
	_, err := y.applies(func(place string) {
		if place == "toy:1 in its new place" {
			y.up()
		}
	})
	must(t, err)
	y.kept("moved")
	y.undo(change.UndoOptions{})
	y.asBefore("undone", beside)
}

// An undo whose server does not start says what it waits for, and does not wait to the end for a server that has ended. It goes on once
// the server starts.
func TestUndoWhoseServerEnds(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	sh(t, `mount -t tmpfs -o size=64m,mode=755 none "$1/new"`, y.dir)
	beside := y.untouched()
	out, err := y.applies(nil)
	must(t, err)
	sh(t, `mv "$1/server.py" "$1/away"`, y.dir)
	k, said := y.executor(y.d), ""
	k.Waits = func(on, until string, most time.Duration) { said += fmt.Sprintln(on, until, most) }
	err = k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{})
	if err == nil || !strings.Contains(err.Error(), "no process works in "+y.data+" any more") {
		t.Errorf("it ends with %v", err)
	}
	if want := fmt.Sprintln("toy:1", y.socket, 20*time.Second); !strings.HasSuffix(said, want) {
		t.Errorf("it says %q, and not %q", said, want)
	}
	sh(t, `mv "$1/away" "$1/server.py"`, y.dir)
	y.undo(change.UndoOptions{})
	y.asBefore("undone", beside)
}

// The disk of the journal is full once the server was stopped: there is room to write down that it is started again.
func TestFullJournal(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	sh(t, `mkdir "$1/journal"; mount -t tmpfs -o size=4m,mode=755 none "$1/journal"`, y.dir)
	beside := y.untouched()
	out, err := y.applies(func(place string) {
		if place == "data at rest of toy:1" {
			sh(t, `! head -c 9000000 /dev/zero >"$1/journal/fills" 2>/dev/null`, y.dir)
		}
	})
	if !errors.Is(err, syscall.ENOSPC) || out.Steps[0].Back != change.TakenBack {
		t.Errorf("%v, %+v", err, out.Steps[0].Back)
	}
	must(t, os.Remove(y.dir+"/journal/fills"))
	y.asBefore("full", beside)
}
