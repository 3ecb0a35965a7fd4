package inventory_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

var journalTime = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func life() *inventory.Life {
	return &inventory.Life{Owner: "test", Purpose: "to be kept", Since: journalTime}
}

// makeFile makes a file in a book.
func makeFile(t *testing.T, b *inventory.Book, name string, l *inventory.Life) inventory.Thing {
	t.Helper()
	thing, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.File, Name: name, Life: l}, func(*inventory.Thing) error { return os.WriteFile(name, nil, 0o600) })
	must(t, err)
	return thing
}

func sweepNothing(t *testing.T, h *host.LiveDoer, books string) {
	t.Helper()
	swept, err := kinds.Books(h, books).Sweep(t.Context())
	must(t, err)
	for _, s := range swept {
		if s.Err == nil {
			t.Errorf("%+v was taken away", s.Thing)
		}
	}
}

// What is meant to live outlives its run and every sweep, with all that was
// made before it; what was made after it goes.
func TestSweepKeepsWhatLives(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	dir, kept, later := filepath.Join(at, "lab"), filepath.Join(at, "lab/kept"), filepath.Join(at, "later")
	tree(t, b, h, dir, "run1")
	makeFile(t, b, kept, life())
	makeFile(t, b, later, nil)
	if err := b.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "kept until what uses it is gone") {
		t.Errorf("the directory of what lives: %v", err)
	}
	sweepNothing(t, h, books)
	if !exists(kept) || exists(later) {
		t.Error("the wrong ones are left")
	}
	left, err := kinds.Books(h, books).List(t.Context())
	if err != nil || len(left) != 1 || len(left[0].Things) != 1 || len(left[0].Living) != 1 || left[0].Living[0].Thing.Life.Purpose != "to be kept" {
		t.Fatalf("listed %+v, %v", left, err)
	}
	must(t, kinds.Books(h, books).RemoveOne(t.Context(), inventory.File, kept))
	if exists(kept) || !exists(dir) {
		t.Error("removing one removed another")
	}
	swept, err := kinds.Books(h, books).Sweep(t.Context())
	if err != nil || len(swept) != 1 || exists(dir) || exists(filepath.Join(books, "run1.book")) {
		t.Errorf("%+v, %v", swept, err)
	}
}

// A thing whose making did not end is not there to be used: it goes, whatever
// it was meant for.
func TestHalfMadeDoesNotLive(t *testing.T) {
	h, books, name := hosttest.LiveDoer(t), t.TempDir(), filepath.Join(t.TempDir(), "tree")
	b := open(t, h, books, "run1")
	_, _ = b.Make(t.Context(), inventory.Thing{Kind: inventory.Tree, Name: name, Life: life()}, func(*inventory.Thing) error {
		must(t, os.Mkdir(name, 0o755))
		b.Die()
		must(t, os.Remove(filepath.Join(books, "run1.book"))) // nothing can be noted any more
		return errors.New("died")
	})
	if exists(name) {
		t.Error("half of it is left")
	}
}

func TestForgetLeavesTheThing(t *testing.T) {
	h, books, name := hosttest.LiveDoer(t), t.TempDir(), filepath.Join(t.TempDir(), "file")
	b := open(t, h, books, "run1")
	makeFile(t, b, name, life())
	if err := kinds.Books(h, books).Forget(t.Context(), inventory.File, name); !errors.Is(err, inventory.ErrLive) {
		t.Errorf("of a run that lives: %v", err)
	}
	b.Die()
	if err := kinds.Books(h, books).Forget(t.Context(), inventory.File, name+"x"); !errors.Is(err, inventory.ErrUnknown) {
		t.Errorf("of another name: %v", err)
	}
	must(t, kinds.Books(h, books).Forget(t.Context(), inventory.File, name))
	if !exists(name) || exists(filepath.Join(books, "run1.book")) {
		t.Error("the thing is gone, or the book is left")
	}
}

// What a dead run left is adopted by its book; what no book has, by its inode.
func TestAdopt(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	left, own, dir := filepath.Join(at, "left"), filepath.Join(at, "own"), filepath.Join(at, "dir")
	makeFile(t, b, left, nil)
	tree(t, b, h, dir, "run1")
	must(t, os.WriteFile(own, nil, 0o600))
	adopt := func(kind, name, id string) error {
		return kinds.Books(h, books).Adopt(t.Context(), inventory.Thing{Kind: kind, Name: name, Proof: map[string]string{"inode": id}, Life: life()})
	}
	if err := adopt(inventory.File, left, ""); !errors.Is(err, inventory.ErrLive) {
		t.Errorf("of a run that lives: %v", err)
	}
	b.Die()
	inode := inodeOf(t, own)
	inode = inode[strings.IndexByte(inode, ' ')+1:]
	must(t, os.Symlink(own, filepath.Join(at, "link")))
	for _, c := range []struct{ kind, name, id string }{
		{inventory.File, own, ""}, {inventory.File, own, "1"}, {inventory.File, filepath.Join(at, "link"), inode}, {inventory.Tree, at, ""},
		{inventory.Process, "1", ""}, {inventory.Loop, "/dev/loop0", ""}, {inventory.File, at, inode}, {inventory.File, filepath.Join(at, "../x"), ""},
	} {
		if err := adopt(c.kind, c.name, c.id); err == nil {
			t.Errorf("%+v was adopted", c)
		}
	}
	for _, c := range []struct{ kind, name, id string }{{inventory.File, left, ""}, {inventory.File, own, inode}, {inventory.Tree, dir, ""}} {
		if err := adopt(c.kind, c.name, c.id); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if err := adopt(c.kind, c.name, c.id); err == nil || !strings.Contains(err.Error(), "is in the inventory since") {
			t.Errorf("twice: %v", err)
		}
	}
	sweepNothing(t, h, books)
	for _, c := range [][2]string{{inventory.File, left}, {inventory.File, own}, {inventory.Tree, dir}} {
		if !exists(c[1]) {
			t.Fatalf("%s was swept", c[1])
		}
		first, err := kinds.Books(h, books).TryRemove(t.Context(), c[0], c[1])
		if err != nil || !strings.Contains(first, c[1]) || !exists(c[1]) {
			t.Errorf("tried on %s: %q, %v", c[1], first, err)
		}
		must(t, kinds.Books(h, books).RemoveOne(t.Context(), c[0], c[1]))
		if exists(c[1]) {
			t.Errorf("%s is left", c[1])
		}
	}
	if all, err := filepath.Glob(filepath.Join(books, "*.book")); err != nil || len(all) > 0 {
		t.Errorf("left are the books %q", all)
	}
}

// Between the line that adopts and the one that takes it off the dead run's
// book, a sweep leaves the thing alone.
func TestSweepAmidAnAdoption(t *testing.T) {
	h, books, name := hosttest.LiveDoer(t), t.TempDir(), filepath.Join(t.TempDir(), "file")
	b := open(t, h, books, "run1")
	makeFile(t, b, name, nil)
	file := b.Die()
	before, err := os.ReadFile(file)
	must(t, err)
	must(t, kinds.Books(h, books).Adopt(t.Context(), inventory.Thing{Kind: inventory.File, Name: name, Life: life()}))
	must(t, os.WriteFile(file, before, 0o600)) // as it was
	_, err = kinds.Books(h, books).Sweep(t.Context())
	if must(t, err); !exists(name) || exists(file) {
		t.Errorf("the thing is gone, or the dead run's book is left")
	}
}

// What is in the place of the thing now is left alone.
func TestRemoveTouchesNoOther(t *testing.T) {
	for what, replace := range map[string]func(name string) error{
		"another file": func(n string) error { return errors.Join(os.Rename(n, n+"2"), os.WriteFile(n, nil, 0o600)) },
		"a link": func(n string) error {
			return errors.Join(os.Rename(n, n+"2"), os.WriteFile(n+"3", nil, 0o600), os.Symlink(n+"3", n))
		},
		"a directory": func(n string) error { return errors.Join(os.Rename(n, n+"2"), os.Mkdir(n, 0o755)) },
	} {
		h, books, name := hosttest.LiveDoer(t), t.TempDir(), filepath.Join(t.TempDir(), "file")
		b := open(t, h, books, "run1")
		makeFile(t, b, name, life())
		b.Die()
		must(t, replace(name))
		if first, err := kinds.Books(h, books).TryRemove(t.Context(), inventory.File, name); !errors.Is(err, inventory.ErrForeign) {
			t.Errorf("%s: tried %q, %v", what, first, err)
		}
		if err := kinds.Books(h, books).RemoveOne(t.Context(), inventory.File, name); !errors.Is(err, inventory.ErrForeign) || !exists(name) || !exists(name+"2") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Nothing is removed in which something else is meant to live.
func TestRemoveKeepsWhatIsInIt(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	dir, inner := filepath.Join(at, "lab"), filepath.Join(at, "lab/inner")
	tree(t, b, h, dir, "run1")
	makeFile(t, b, inner, life())
	b.Die()
	err := kinds.Books(h, books).RemoveOne(t.Context(), inventory.Tree, dir)
	if err == nil || !strings.Contains(err.Error(), "is in it and to be kept") || !exists(inner) {
		t.Errorf("%v", err)
	}
}

// A book that somebody else can have written names nothing to remove, and
// keeps nothing from being swept.
func TestForgedBookOfTheLiving(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a book to another user")
	}
	h, books, name := hosttest.LiveDoer(t), t.TempDir(), filepath.Join(t.TempDir(), "file")
	b := open(t, h, books, "forged")
	makeFile(t, b, name, life())
	forged := b.Die()
	must(t, os.Chown(forged, 65534, 65534))
	if err := kinds.Books(h, books).RemoveOne(t.Context(), inventory.File, name); err == nil || !exists(name) {
		t.Errorf("a forged book was acted on: %v", err)
	}
	if err := kinds.Books(h, books).Adopt(t.Context(), inventory.Thing{Kind: inventory.File, Name: name, Life: life()}); err == nil {
		t.Error("a forged book proved something")
	}
	other := filepath.Join(t.TempDir(), "other")
	b = open(t, h, books, "run2")
	makeFile(t, b, other, nil)
	b.Die()
	if _, err := kinds.Books(h, books).Sweep(t.Context()); err == nil || exists(other) || !exists(name) {
		t.Errorf("swept: %v", err)
	}
}
