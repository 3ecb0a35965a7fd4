package inventory_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// A book that gets long goes on in a file that holds what is still there.
func TestLongBook(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	dir, file := filepath.Join(at, "lab"), filepath.Join(at, "file")
	tree(t, b, h, dir, "run1")
	b.Turn(20)
	for b.Volumes() < 3 {
		made, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.File, Name: file}, func(*inventory.Thing) error { return os.WriteFile(file, nil, 0o600) })
		must(t, err)
		must(t, b.Remove(t.Context(), made))
	}
	_, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.File, Name: file}, func(*inventory.Thing) error { return os.WriteFile(file, nil, 0o600) })
	must(t, err)
	if swept, err := kinds.Books(h, books).Sweep(t.Context()); err != nil || len(swept) > 0 {
		t.Errorf("a live lab was swept: %v, %v", swept, err)
	}
	left, err := kinds.Books(h, books).List(t.Context())
	if err != nil || len(left) != 1 || left[0].Run != "run1" || !left[0].Live || len(left[0].Things) != 2 {
		t.Errorf("listed %+v, %v", left, err)
	}
	b.Die()
	swept, err := kinds.Books(h, books).Sweep(t.Context())
	if err != nil || len(swept) != 2 || errors.Join(swept[0].Err, swept[1].Err) != nil || exists(dir) || exists(file) {
		t.Errorf("swept %+v, %v", swept, err)
	}
}
