package provision

import (
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/boost"
	"plumb/internal/stack"
)

// What was fetched for a swap that has not come goes; that of one in force stays, for it is its way back.
func TestDropFirst(t *testing.T) {
	dir, ref := t.TempDir(), stack.Ref{Kind: "mysql", Name: "3306"}
	k := change.NewExecutor(hosttest.LiveDoer(t), "test")
	k.Dir = filepath.Join(dir, "journal")
	w := &swap{opened: opened{Lender: &boost.Lender{Executor: k}}, run: provision.Run{Executor: k, Of: "swap " + ref.String()}, home: provision.Home{Server: ref}}
	stage := func(name, made string) {
		t.Helper()
		acts := []change.Act{{Make: &change.Make{Thing: change.Thing{Path: filepath.Join(dir, made)}, Directory: &change.Dir{Perm: 0o700, UID: -1, GID: -1}}}}
		if _, err := w.run.Stage(t.Context(), stageOf(w, name, "", provision.Making{Acts: acts})); err != nil {
			t.Fatal(err)
		}
	}
	there := func(made string) bool { _, err := os.Stat(filepath.Join(dir, made)); return err == nil }
	stage(programsOf+"MariaDB 11.8", "fetched")
	for range 2 {
		if err := w.dropFirst(t.Context()); err != nil || there("fetched") {
			t.Errorf("it is there: %v, %v", there("fetched"), err)
		}
	}
	stage(programsOf+"MariaDB 11.8", "fetched")
	stage("mysql:3306 from MariaDB 10.11 to MariaDB 11.8", "swapped")
	if err := w.dropFirst(t.Context()); err != nil || !there("fetched") || !there("swapped") {
		t.Errorf("the way back is gone: %v", err)
	}
	if err := k.Undo(t.Context(), []int{2}, change.UndoOptions{Force: true}); err == nil || !there("fetched") {
		t.Errorf("the packages of the way back are gone: %v", err)
	}
}

// Going back takes the last swap, with what brought its programs, and none before it.
func TestOfLast(t *testing.T) {
	stage := func(number int, name string) *change.Change {
		return &change.Change{Number: number, Begin: change.Begin{Steps: []change.Step{{To: stack.Text(name)}}}}
	}
	first, swap := "programs of MariaDB 11.8", "mysql:3306 from MariaDB 10.11 to MariaDB 11.8"
	for name, c := range map[string]struct {
		all  []*change.Change
		want []int
	}{
		"a swap with programs":    {[]*change.Change{stage(1, first), stage(2, swap)}, []int{2, 1}},
		"one without":             {[]*change.Change{stage(1, swap)}, []int{1}},
		"two":                     {[]*change.Change{stage(1, first), stage(2, swap), stage(3, first), stage(4, swap)}, []int{4, 3}},
		"two without":             {[]*change.Change{stage(1, swap), stage(2, swap)}, []int{2}},
		"killed while it fetched": {[]*change.Change{stage(1, first), stage(2, swap), stage(3, first)}, []int{3}},
		"none":                    {nil, nil},
	} {
		var got []int
		for _, one := range ofLast(c.all) {
			got = append(got, one.Number)
		}
		if len(got) != len(c.want) || len(got) > 0 && (got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1]) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
