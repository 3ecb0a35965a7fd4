package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// served is a machine with a server of one setting in memory, which reads
// /etc/server.conf when it starts, and one that it keeps itself in auto.conf.
type served struct {
	host.Doer
	m    *machine
	up   bool
	live string // the setting in memory
	said []string
}

func (s *served) Query(_ context.Context, t host.Target, query string) (host.Rows, error) {
	if !s.up {
		return host.Rows{}, fmt.Errorf("query %s: %w", t.Name, host.ErrDown)
	}
	value := s.live
	if query == "SELECT kept" {
		value, _, _ = edit.Get(edit.Postgresql, []byte(s.m.read("/data/auto.conf")), "kept")
	}
	return host.Rows{Columns: []string{"v"}, Values: [][]*string{{&value}}}, nil
}

func (s *served) Exec(_ context.Context, t host.Target, statement string) error {
	if !s.up {
		return fmt.Errorf("execute on %s: %w", t.Name, host.ErrDown)
	}
	s.said = append(s.said, statement)
	if value, ok := strings.CutPrefix(statement, "SET live "); ok {
		s.live = value
		return nil
	}
	value, ok := strings.CutPrefix(statement, "KEEP ")
	if !ok {
		return errors.New("no such statement")
	}
	text, err := edit.Set(edit.Postgresql, []byte(s.m.read("/data/auto.conf")), "kept", strings.Trim(value, "'"))
	s.m.write("/data/auto.conf", string(text))
	return err
}

// Run restarts the server: it does not start with live = 5.
func (s *served) Run(_ context.Context, argv ...string) ([]byte, error) {
	s.up = false
	if strings.Contains(s.m.read("/etc/server.conf"), "live = 5") || strings.Contains(s.files(), "kept = 5") {
		return nil, errors.New("run restart: it does not start")
	}
	s.up, s.live = true, "1"
	return nil, nil
}

// setter of the served machine: live at once and in a file, kept by the server.
type servedSetter struct{ itself bool }

func (servedSetter) Kinds() []string { return []string{"toy"} }

func (s servedSetter) Recipe(_ context.Context, _ host.Reader, _ *stack.Stack, w Want) (Recipe, error) {
	t := host.Target{Engine: "toy", Name: "toy:1", Address: "/run/toy.sock"}
	live := Act{Switch: &Switch{On: "toy:1 live", Inspect: Inspection{Target: &t, Query: "SELECT live"}, After: w.To.String(),
		Do: []Op{{Target: &t, Statement: "SET live " + w.To.String()}}, Undo: []Op{{Target: &t, Statement: "SET live {before}"}}}}
	file := Act{Edit: &Edit{File: "/etc/server.conf", Form: edit.Sysctl, Key: "live", Value: w.To.String()}}
	kept := Act{Switch: &Switch{On: "toy:1 kept", Inspect: Inspection{Target: &t, Query: "SELECT kept"}, After: w.To.String(),
		Do: []Op{{Target: &t, Statement: "KEEP '" + w.To.String() + "'"}}, Undo: []Op{{Target: &t, Statement: "KEEP {before:sql}"}},
		Down: &Down{File: "/data/auto.conf", Form: edit.Postgresql, Key: "kept", Value: w.To.String(), PID: "/data/pid"}}}
	if s.itself {
		kept.Switch.Down = &Down{Hint: "with --forget"}
	}
	return Recipe{Effect: catalog.Restart, Waits: "a restart of toy.service", Shorten: []Op{{Target: &t, Statement: "CHECKPOINT"}}, Restart: []Op{{Argv: []string{"restart", "toy"}}}, Acts: []Act{live, file, kept}}, nil
}

func newServed(t *testing.T) *served {
	m := newMachine(t)
	m.write("/etc/server.conf", "# by hand\nlive = 1\n")
	m.write("/data/auto.conf", "# do not edit\nkept = '1'\n")
	return &served{Doer: m.doer, m: m, up: true, live: "1"}
}

// files is what they say: a number need not be quoted.
func (s *served) files() string {
	return s.m.read("/etc/server.conf") + strings.ReplaceAll(s.m.read("/data/auto.conf"), "'", "")
}

func (s *served) draft(setter Setter) Draft { return s.m.draft(setter, to("a", 5)) }

// With the server down the files go back, also the one in which it keeps what
// it was told, and what is only in its memory waits; with the server up the rest
// goes too, and the journal holds nothing open.
func TestUndoWithTheServerDown(t *testing.T) {
	s := newServed(t)
	was := s.files()
	k := s.m.executor(s)
	out, err := k.Apply(t.Context(), s.draft(servedSetter{}), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.up = false
	err = k.Undo(t.Context(), []int{out.Number}, UndoOptions{})
	w, ok := errors.AsType[*Waiting](err)
	if !ok || w.For != "toy:1" || !strings.Contains(w.Hint(), "start toy:1") || !errors.Is(err, host.ErrDown) {
		t.Fatalf("%v", err)
	}
	if s.files() != was {
		t.Errorf("with the server down undo left %q", s.files())
	}
	states := func() string {
		all, err := k.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, p := range all[0].Acts {
			words = append(words, string(p.State))
		}
		return strings.Join(words, " ")
	}
	if got := states(); got != "done undone undone" {
		t.Errorf("the acts are %s", got)
	}
	s.up, s.live = true, "1" // it was started with the old file
	if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil || states() != "undone undone undone" || s.files() != was {
		t.Errorf("%v, %s, %q", err, states(), s.files())
	}
}

// What the server keeps is touched only where it surely is down, and only as
// Plumb left it.
func TestWhatAServerKeepsWhileItMayRun(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(s *served)
		want    string
		drifted bool
	}{
		"it runs, and refuses us":     {func(s *served) { s.m.write("/data/pid", "812\n"); s.m.write("/proc/812/stat", "") }, "kept = 5", false},
		"its data is not mounted":     {func(s *served) { s.m.rename("/data", "/gone"); s.m.write("/other/x", "") }, "", false},
		"it died and left its pid":    {func(s *served) { s.m.write("/data/pid", "812\n") }, "kept = 1", false},
		"somebody changed it since":   {func(s *served) { s.m.write("/data/auto.conf", "kept = '7'\n") }, "kept = 7", true},
		"somebody took it back since": {func(s *served) { s.m.write("/data/auto.conf", "kept = '1'\n") }, "kept = 1", false},
	} {
		s := newServed(t)
		k := s.m.executor(s)
		out, err := k.Apply(t.Context(), s.draft(servedSetter{}), ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.prepare(s)
		s.up = false
		err = k.Undo(t.Context(), []int{out.Number}, UndoOptions{})
		_, drifted := errors.AsType[*Drifted](err)
		if err == nil || drifted != c.drifted {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && !strings.Contains(s.files(), c.want) {
			t.Errorf("%s: %q", name, s.m.read("/data/auto.conf"))
		}
	}
}

// A restart that the server did not survive: the files first, then the restart
// again, then what only a running server can take back.
func TestRestartBack(t *testing.T) {
	s := newServed(t)
	was := s.files()
	k := s.m.executor(s)
	out, err := k.Apply(t.Context(), s.draft(servedSetter{}), ApplyOptions{Restart: true, Begin: Begin{Try: time.Now().Add(time.Minute)}})
	if err == nil || !strings.Contains(err.Error(), "it does not start") || s.up {
		t.Fatalf("%v", err)
	}
	if said := s.said[len(s.said)-1]; said != "CHECKPOINT" { // it fails here, and the restart was done
		t.Errorf("before the restart it was told %q", said)
	}
	if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{Keep: true}); err == nil || s.files() != was {
		t.Fatalf("%v, %q", err, s.files())
	}
	for i := range 2 {
		did, err := k.RestartBack(t.Context(), out.Number)
		if err != nil || did != (i == 0) || !s.up {
			t.Errorf("the %dth time: %v, %v", i+1, did, err)
		}
	}
	if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{Keep: true}); err != nil {
		t.Error(err)
	}
	all, err := k.Changes(t.Context())
	if err != nil || all[0].Open() || len(all[0].RestartsBack()) != 0 {
		t.Errorf("%+v, %v", all[0], err)
	}
}

// Where only the server could take its value back, --try with --restart is
// refused before the first change.
func TestTryRestartIsRefused(t *testing.T) {
	s := newServed(t)
	was := s.files()
	k := s.m.executor(s)
	_, err := k.Apply(t.Context(), s.draft(servedSetter{itself: true}), ApplyOptions{Restart: true, Begin: Begin{Try: time.Now().Add(time.Minute)}})
	r, ok := errors.AsType[*Refusal](err)
	if !ok || !strings.Contains(r.Why, "the server keeps the value itself") || s.files() != was || s.live != "1" {
		t.Fatalf("%v, %q", err, s.files())
	}
	if all, err := k.Changes(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	out, err := k.Apply(t.Context(), s.draft(servedSetter{itself: true}), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.up = false
	err = k.Undo(t.Context(), []int{out.Number}, UndoOptions{})
	if w, ok := errors.AsType[*Waiting](err); !ok || !strings.Contains(w.Hint(), "start toy:1 with --forget") {
		t.Errorf("%v", err)
	}
}
