package cli

import (
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/stack"
)

// capturedHosts gives the tape of each captured host.
func capturedHosts(t *testing.T) []string {
	t.Helper()
	tapes, err := filepath.Glob("../../fixtures/*.tape.gz")
	if err != nil || len(tapes) == 0 {
		t.Fatalf("no tapes in fixtures: %v", err)
	}
	return tapes
}

// TestTapes replays every captured host: each fact that is set must be
// declared and of its type, a saved stack must read back as it was, and no rule
// may break.
func TestTapes(t *testing.T) {
	a := &app{Shell: shell.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	know, err := a.loadKnowledge(check.Choice{}, "")
	must(t, err)
	for _, name := range capturedHosts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".tape.gz"), func(t *testing.T) {
			s, err := a.read(t.Context(), know.Catalog, shell.Source{Tape: name, Timeout: check.DefaultTimeout})
			if err != nil {
				t.Fatal(err)
			}
			if err := know.Catalog.Validate(s); err != nil {
				t.Error(err)
			}
			readsBack(t, s)
			for _, v := range know.Rules.Judge(s) {
				if v.Err != nil {
					t.Errorf("%s on %v: %v", v.Rule.ID, v.Things, v.Err)
				}
			}
		})
	}
}

// TestLiveFits reads this machine, whatever it is.
func TestLiveFits(t *testing.T) {
	a := &app{Shell: shell.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	cat, err := a.loadCatalog()
	must(t, err)
	s, err := a.read(t.Context(), cat, shell.Source{Timeout: check.DefaultTimeout})
	must(t, err)
	if err := cat.Validate(s); err != nil {
		t.Error(err)
	}
	readsBack(t, s)
}

func readsBack(t *testing.T, s *stack.Stack) {
	var back stack.Stack
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	must(t, err)
	for i, thing := range s.Things {
		if !reflect.DeepEqual(thing.Facts, back.Things[i].Facts) || len(thing.Links) != len(back.Things[i].Links) {
			t.Errorf("%s is not read back as it was", thing.Ref)
		}
	}
}
