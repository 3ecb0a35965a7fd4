package clone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
)

// deaf is this machine, without servers.
type deaf struct{ *host.LiveDoer }

func (deaf) Hold(context.Context, host.Target) (host.Held, error) { return nil, errors.New("not here") }

// TestEditedClones: the file of a clone that somebody edited or copied is none: no clone is taken away for it.
func TestEditedClones(t *testing.T) {
	d := deaf{hosttest.LiveDoer(t)}
	m := Maker{Dir: t.TempDir(), Maker: instance.Maker{Keeper: &protect.Keeper{Do: d, Books: t.TempDir()}}}
	for name, c := range map[string]struct{ text, want string }{
		"dev":  {`{"form": 1, "name": "dev", "state": "maed"}`, `"maed" is no state of a clone`},
		"copy": {`{"form": 1, "name": "dev", "state": "made"}`, "it is no clone of this name"},
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
