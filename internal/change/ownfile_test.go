package change

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// A file of ours goes with the last of its values, in whatever order they go.
func TestOwnFileGoes(t *testing.T) {
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		m := newMachine(t)
		for _, name := range []string{"a", "b"} {
			if _, err := m.executor(m.doer).Apply(t.Context(), m.draft(ours{}, to(name, 9)), ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range order {
			if err := m.executor(m.doer).Undo(t.Context(), []int{n}, UndoOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := os.Stat(m.dir + "/etc/plumb.conf")
			if gone := errors.Is(err, os.ErrNotExist); gone != (i == 1) {
				t.Errorf("order %v, after %d: the file is gone: %v", order, n, gone)
			}
			if i == 0 && !strings.Contains(m.read("/etc/plumb.conf"), "[server]\n") {
				t.Errorf("the group went with one of its values: %q", m.read("/etc/plumb.conf"))
			}
		}
	}
}

// ours is toy with a file of Plumb's own.
type ours struct{ toy }

func (o ours) Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w Want) (Recipe, error) {
	r, err := o.toy.Recipe(ctx, h, s, w)
	r.Acts[1].Edit = &Edit{File: "/etc/plumb.conf", Form: edit.OptionFile, Key: "server/" + w.Knob.Name, Value: w.To.String(), Ours: true, Note: "Read by toy."}
	return r, err
}
