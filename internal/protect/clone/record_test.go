package clone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/stack"
)

// deaf is this machine, without servers.
type deaf struct{ *host.LiveDoer }

func (deaf) Hold(context.Context, host.Target) (host.Held, error) { return nil, errors.New("not here") }

// TestEditedClones: the file of a clone that somebody edited or copied is none: no clone is taken away for it.
func TestEditedClones(t *testing.T) {
	d := deaf{hosttest.LiveDoer(t)}
	m := Maker{Dir: t.TempDir(), Maker: instance.Maker{Keeper: &protect.Keeper{Do: d, Books: t.TempDir()}}}
	for name, c := range map[string]struct{ text, want string }{
		"dev":  {`{"form": 1, "name": "dev", "state": "maed"}`, `"maed" is not a state of a clone`},
		"copy": {`{"form": 1, "name": "dev", "state": "made"}`, "it is not a clone of this name"},
		"half": {`{"form": 1, "name": "half", "sta`, "half.json: unexpected end"},
	} {
		file := filepath.Join(m.Dir, name+".json")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := m.Get(t.Context(), d, name)
		if err == nil || !strings.Contains(err.Error(), c.want) || name != "half" && !strings.Contains(hint.Of(err), "repair the file") {
			t.Errorf("%s: %v, hint %q", name, err, hint.Of(err))
		}
		if err := m.sweep(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: swept with %v", name, err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != c.text {
			t.Errorf("%s: left is %q, %v", name, text, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Get(t.Context(), d, "dev"); err == nil || fmt.Sprint(err) != `look for clone "dev": there is no such clone` {
		t.Errorf("what is not there: %v", err)
	}
}

// TestClonesThatOthersCanWrite: nothing is done by the file of a clone that others can have written: it says what masks it.
func TestClonesThatOthersCanWrite(t *testing.T) {
	d := deaf{hosttest.LiveDoer(t)}
	m := Maker{Dir: t.TempDir(), Maker: instance.Maker{Keeper: &protect.Keeper{Do: d, Books: t.TempDir(), Store: protect.Store{Dir: t.TempDir(), Guard: host.Guarded}}}}
	if err := m.put(t.Context(), Clone{Name: "dev", State: Made}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(m.file("dev"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, refreshed := m.Refresh(t.Context(), "dev", protect.Point{State: protect.Taken}, nil)
	for what, err := range map[string]error{"dropped": m.Drop(t.Context(), "dev"), "refreshed": refreshed} {
		if err == nil || !strings.Contains(err.Error(), "dev.json can be written to by others") {
			t.Errorf("%s with %v", what, err)
		}
	}
	if c, err := m.Get(t.Context(), d, "dev"); err != nil || c.State != Made {
		t.Errorf("it is %+v, %v", c, err)
	}
}

// plain is an engine whose masks are typed as they are.
type plain struct{ protect.Engine }

func (plain) Kind() string { return "plain" }

// heard is a session that keeps what is typed to it.
type heard struct {
	load.Admin
	all []string
}

func (h *heard) Exec(_ context.Context, statements ...string) error {
	h.all = append(h.all, statements...)
	return nil
}

// TestMaskThatEndsNothing: a mask that leaves its transaction open is done all the same: who gives one must not get a clone without.
func TestMaskThatEndsNothing(t *testing.T) {
	m := Maker{Maker: instance.Maker{Keeper: &protect.Keeper{Engines: []protect.Engine{plain{}}}}}
	c := &instance.Copy{Copy: protect.Copy{Server: protect.Server{Ref: stack.Ref{Kind: "plain"}}}}
	h := &heard{}
	if err := m.behindDoors(t.Context(), c, h, Options{Purpose: protect.ForUse, Masks: []string{"BEGIN", "UPDATE a SET b = 1"}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"BEGIN", "UPDATE a SET b = 1", "COMMIT"}; !slices.Equal(h.all, want) {
		t.Errorf("typed were %q, want %q", h.all, want)
	}
}
