package inventory_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// A trial says what a removal would begin with, and leaves every byte of the
// things and of their book.
func TestTryRemoveChangesNothing(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	dir, file, inner := filepath.Join(at, "lab"), filepath.Join(at, "file"), filepath.Join(at, "lab/inner")
	tree(t, b, h, dir, "run1")
	must(t, os.WriteFile(inner, []byte("data"), 0o600))
	makeFile(t, b, file, life())
	sleep := exec.Command("sleep", "600")
	process, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.Process}, func(made *inventory.Thing) error {
		if err := sleep.Start(); err != nil {
			return err
		}
		return kinds.Proven(t.Context(), h, made, sleep.Process.Pid)
	})
	must(t, err)
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	b.Die()
	before := digest(t, books) + digest(t, at)
	for _, c := range []struct{ kind, name, first string }{
		{inventory.Tree, dir, "run find " + dir}, {inventory.File, file, "remove " + file}, {inventory.Process, process.Name, "run sh -c kill"},
	} {
		first, err := kinds.Books(h, books).TryRemove(t.Context(), c.kind, c.name)
		if err != nil || !strings.HasPrefix(first, c.first) {
			t.Errorf("%s: it would begin with %q, %v", c.kind, first, err)
		}
	}
	if after := digest(t, books) + digest(t, at); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", sleep.Process.Pid))
	if err != nil || strings.Contains(string(state), ") Z ") {
		t.Errorf("the process has ended: %s, %v", state, err)
	}
}

// digest names all files of a directory with what tells whether they were touched.
func digest(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [sha256.Size]byte
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(text)
		}
		_, err = fmt.Fprintf(&all, "%s %v %d %v %x\n", name, info.Mode(), info.Size(), info.ModTime(), sum[:8])
		return err
	}))
	return all.String()
}
