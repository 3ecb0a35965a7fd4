package rollback

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
	"plumb/internal/protect"
	"plumb/internal/protect/service"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// TestUndoStopsAServerThatDoesNotListen: a server that crashed after a rollback may be started by its unit at any moment, and is stopped
// before its datasets are taken away.
func TestUndoStopsAServerThatDoesNotListen(t *testing.T) {
	c := listener(t, nil, zfs.Tools{})
	sh(t, strings.Join(c.plan.Stop, " "))
	said := filepath.Join(t.TempDir(), "stopped")
	look, err := service.Listens(t.Context(), c.h, c.plan.Target)
	if err != nil || look {
		t.Fatalf("it was stopped, and listens: %v, %v", look, err)
	}
	script := filepath.Join(t.TempDir(), "stop")
	must(t, os.WriteFile(script, []byte("echo stopped >>"+said+"; exec "+strings.Join(c.plan.Stop, " ")+"\n"), 0o700))
	crash := strings.Join(c.plan.Stop, " ")
	c.plan.Stop = []string{"sh", script}
	state, err := c.startAct()
	must(t, err)
	k := &change.Executor{Doer: hosttest.LiveDoer(t), Dir: filepath.Join(t.TempDir(), "plumb"), Plumb: "test", Now: time.Now}
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: c.plan.Server.Ref, Name: Knob}}, Recipe: change.Recipe{Acts: []change.Act{{Switch: &state}}}}}}, change.ApplyOptions{})
	must(t, err)
	sh(t, crash)
	must(t, k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}))
	if text, err := os.ReadFile(said); err != nil || string(text) != "stopped\n" {
		t.Errorf("the undo did not stop it: %q, %v", text, err)
	}
}

// answers is an engine of a server of which only where it stands is asked.
type answers struct{ protect.Engine }

func (answers) Kind() string { return "server" }
func (answers) Position(context.Context, host.Reader, host.Target) (protect.Position, error) {
	return protect.Position{Offset: 7}, nil
}

// TestPointsThatAreAwayFailNothing: a rollback that came to its end is none that failed, when another point lies on storage that is away.
func TestPointsThatAreAwayFailNothing(t *testing.T) {
	c := listener(t, nil, zfs.Tools{})
	d := here{hosttest.LiveDoer(t)}
	var told []string
	k := &protect.Keeper{Do: d, Engines: []protect.Engine{answers{}}, Store: protect.Store{Dir: t.TempDir()}, Now: time.Now, Warn: func(_ string, err error) { told = append(told, err.Error()) }}
	must(t, k.Store.Put(t.Context(), d, protect.Point{ID: "20261124T010000Z-0000", State: protect.Taken, Server: protect.Server{Ref: db}, Members: []protect.Member{{Volume: protect.Volume{Storage: "away", Name: "x"}, Snapshot: "x@y"}}}))
	r := Rollback{Keeper: k, Executor: &change.Executor{Doer: d, Dir: filepath.Join(t.TempDir(), "plumb"), Plumb: "test", Now: time.Now}}
	state, err := c.startAct()
	must(t, err)
	plan := *c.plan
	plan.Recipe = change.Recipe{Acts: []change.Act{{Switch: &state}}}
	res, err := r.Run(t.Context(), plan, change.Begin{})
	if err != nil || res.Position.Offset != 7 || len(told) != 1 || !strings.Contains(told[0], "x is on away") {
		t.Errorf("%+v, %v, told %q", res, err, told)
	}
	all, err := r.Executor.Changes(t.Context())
	must(t, err)
	if !all[0].Steps[0].Data { // by which an undo of what moved its data before is refused
		t.Error("the journal does not say that it replaced the server's data")
	}
	sh(t, strings.Join(c.plan.Stop, " "))
	if _, err := r.Run(t.Context(), plan, change.Begin{}); err == nil || !strings.Contains(err.Error(), "no longer listens") {
		t.Errorf("a server that does not listen is rolled back: %v", err)
	}
}

// TestRollbackBesideAnotherPlumb: while another takes or destroys points nothing is stopped, and nothing is swapped; nor when another
// destroyed the point since the plan was made.
func TestRollbackBesideAnotherPlumb(t *testing.T) {
	c := listener(t, nil, zfs.Tools{})
	k := &protect.Keeper{Do: here{hosttest.LiveDoer(t)}, Store: protect.Store{Dir: t.TempDir()}, Now: time.Now}
	unlock, err := k.Store.Lock(t.Context(), k.Do)
	must(t, err)
	res, err := Rollback{Keeper: k}.Run(t.Context(), *c.plan, change.Begin{})
	if !errors.Is(err, protect.ErrBusy) || res.Change != 0 || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%+v, %v", res, err)
	}
	unlock()
	k.Storages = []protect.Storage{shelf{gone: "pruned meanwhile"}}
	plan := *c.plan
	plan.Point.Members = []protect.Member{{Volume: protect.Volume{Storage: "shelf", Name: "data"}, Snapshot: "pruned meanwhile"}}
	res, err = Rollback{Keeper: k}.Run(t.Context(), plan, change.Begin{})
	if err == nil || res.Change != 0 || !strings.Contains(err.Error(), "(nothing was changed): the snapshot pruned meanwhile is gone") {
		t.Errorf("of a point that went since it was planned: %+v, %v", res, err)
	}
}

// TestUndoBesideAnotherPlumb: while another takes or destroys points no rollback is taken back, while one is taken back no other may,
// and what is no rollback needs no lock of theirs.
func TestUndoBesideAnotherPlumb(t *testing.T) {
	k := &protect.Keeper{Do: here{hosttest.LiveDoer(t)}, Store: protect.Store{Dir: t.TempDir()}, Now: time.Now}
	r, ctx := Rollback{Keeper: k}, t.Context()
	of := func(knob string) []*change.Change {
		return []*change.Change{{Begin: change.Begin{Steps: []change.Step{{Knob: stack.Knob{Of: db, Name: knob}}}}}}
	}
	done := 0
	undo := func() {
		if done++; done > 1 {
			if _, err := k.Store.Lock(ctx, k.Do); !errors.Is(err, protect.ErrBusy) {
				t.Errorf("another Plumb takes points meanwhile: %v", err)
			}
		}
	}
	unlock, err := k.Store.Lock(ctx, k.Do)
	must(t, err)
	if err := r.Undoing(ctx, of(Knob), undo); !errors.Is(err, protect.ErrBusy) || done != 0 || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("beside another: %v, undone %d times", err, done)
	}
	if err := r.Undoing(ctx, of("innodb_buffer_pool_size"), undo); err != nil || done != 1 {
		t.Errorf("what is no rollback: %v, undone %d times", err, done)
	}
	unlock()
	if err := r.Undoing(ctx, of(Knob), undo); err != nil || done != 2 {
		t.Errorf("alone: %v, undone %d times", err, done)
	}
	unlock, err = k.Store.Lock(ctx, k.Do)
	must(t, err)
	unlock()
}

// TestUnitThatStartsNothing: a unit that was made for one run, or was masked since, is refused before the server is stopped.
func TestUnitThatStartsNothing(t *testing.T) {
	for said, want := range map[string]string{
		"CanStart=yes\nTransient=no\n":  "",
		"CanStart=no\nTransient=no\n":   "db.service could not be started again",
		"CanStart=yes\nTransient=yes\n": "db.service could not be started again",
		"":                              "db.service could not be started again",
	} {
		c := &checking{s: &stack.Stack{}, plan: &Plan{Server: protect.Server{PID: 7, Unit: "db.service"}, Target: host.Target{Network: "tcp", Address: "127.0.0.1:3306"}}, h: hosttest.Map{
			Files:   map[string]string{"/proc/net/tcp": "   0: 0100007F:0CEA 00000000:0000 0A 0\n"},
			Outputs: map[string]string{"systemctl show --property=CanStart,Transient,TriggeredBy -- db.service": said}}}
		if err := c.startable(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// startAct is the act that starts the server.
func (c *checking) startAct() (change.Switch, error) {
	acts, err := c.acts()
	if err != nil {
		return change.Switch{}, err
	}
	return *acts[len(acts)-2].Switch, nil
}
