package kinds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/test/mortal"
)

// adoptPrecious takes somebody's file into the inventory, by its inode.
func adoptPrecious(ctx context.Context, d host.Doer, dir string) error {
	name := filepath.Join(dir, "precious")
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	return Books(d, filepath.Join(dir, "books")).Adopt(ctx, inventory.Thing{Kind: inventory.File, Name: name,
		Proof: map[string]string{"inode": fmt.Sprint(st.Sys().(*syscall.Stat_t).Ino)}, Life: &inventory.Life{Owner: "test", Since: time.Now()}})
}

// Killed at every operation, an adoption, a forgetting and a removal lose
// nothing that they were not to remove, and can be done again.
func TestCrashOfAdoptForgetRemove(t *testing.T) {
	for _, what := range []string{"adopt", "forget", "remove"} {
		t.Run(what, func(t *testing.T) {
			dir := fresh(t)
			prepare := func() {
				must(t, os.RemoveAll(filepath.Join(dir, "books")))
				must(t, os.WriteFile(filepath.Join(dir, "precious"), []byte("precious"), 0o600))
				if what != "adopt" {
					child(t, dir, "adopt", 0, "never")
				}
			}
			prepare()
			n := child(t, dir, what, 0, "never")
			if n < 2 {
				t.Fatalf("only %d operations", n)
			}
			mortal.Ways(t, n, 1, func(at int, how string) {
				prepare()
				child(t, dir, what, at, how)
				checkPrecious(t, dir, what, fmt.Sprintf("killed %s operation %d of %d", how, at, n))
			})
		})
	}
}

func checkPrecious(t *testing.T, dir, what, when string) {
	t.Helper()
	h, books, name := hosttest.LiveDoer(t), filepath.Join(dir, "books"), filepath.Join(dir, "precious")
	left, err := Books(h, books).List(t.Context())
	must(t, err)
	known := false
	for _, l := range left {
		known = known || len(l.Living) > 0
	}
	sweepAll(t, dir)
	if !exists(name) && what != "remove" {
		t.Fatalf("%s: it is gone", when)
	}
	if exists(name) && what == "remove" && !known {
		t.Errorf("%s: it is there, and nobody knows of it", when)
	}
	if err := Books(h, books).RemoveOne(t.Context(), inventory.File, name); known != (err == nil) || err != nil && !errors.Is(err, inventory.ErrUnknown) {
		t.Errorf("%s: removed afterwards: %v", when, err)
	}
	if known && exists(name) {
		t.Errorf("%s: it is left", when)
	}
	if all, err := filepath.Glob(filepath.Join(books, "*.book")); err != nil || len(all) > 0 {
		t.Errorf("%s: left are %q", when, all)
	}
}
