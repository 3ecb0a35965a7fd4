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
	"plumb/internal/journal"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, h *host.LiveDoer, dir, run string) *inventory.Book {
	t.Helper()
	b, err := kinds.Books(h, dir).Open(t.Context(), run)
	must(t, err)
	return b
}

// tree makes a directory of a lab in the book.
func tree(t *testing.T, b *inventory.Book, h *host.LiveDoer, name, run string) inventory.Thing {
	t.Helper()
	made, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.Tree, Name: name}, func(*inventory.Thing) error {
		_, err := h.Run(t.Context(), "mkdir", name)
		return errors.Join(err, h.Append(t.Context(), filepath.Join(name, inventory.Marker), []byte(run+"\n")))
	})
	must(t, err)
	return made
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

func TestBookTakesAwayWhatItMade(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	dir, file := filepath.Join(at, "lab"), filepath.Join(at, "image")
	tree(t, b, h, dir, "run1")
	made, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.File, Name: file}, func(*inventory.Thing) error { return os.WriteFile(file, nil, 0o600) })
	must(t, err)
	if _, err := kinds.Books(h, books).Open(t.Context(), "run1"); !errors.Is(err, inventory.ErrLive) {
		t.Errorf("opened twice: %v", err)
	}
	left, err := kinds.Books(h, books).List(t.Context())
	if err != nil || len(left) != 1 || !left[0].Live || left[0].Run != "run1" || len(left[0].Things) != 2 || left[0].Things[0].Name != file {
		t.Errorf("listed %+v, %v", left, err)
	}
	if swept, err := kinds.Books(h, books).Sweep(t.Context()); err != nil || len(swept) != 0 || !exists(file) {
		t.Errorf("a live lab was swept: %v, %v", swept, err)
	}
	must(t, b.Remove(t.Context(), made))
	must(t, b.Remove(t.Context(), made))
	if exists(file) || !exists(dir) {
		t.Error("the file is there, or the directory is not")
	}
	if err := b.Remove(t.Context(), inventory.Thing{Kind: inventory.File, Name: "/etc/passwd"}); err == nil {
		t.Error("what is not in the book was taken away")
	}
	must(t, b.Close(t.Context()))
	if exists(dir) || exists(filepath.Join(books, "run1.book")) {
		t.Error("something is left")
	}
}

// What was there before us is refused, and stays.
func TestBookMakesNothingWhereSomethingIs(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	defer b.Close(t.Context())
	for _, kind := range []string{inventory.Tree, inventory.File, inventory.Group} {
		_, err := b.Make(t.Context(), inventory.Thing{Kind: kind, Name: at}, func(*inventory.Thing) error { t.Error(kind, "was made"); return nil })
		if err == nil {
			t.Error(kind, "was not refused")
		}
	}
	if _, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.Mount, Name: "/proc"}, func(*inventory.Thing) error { return nil }); err == nil {
		t.Error("a mount was made on another")
	}
	if _, err := b.Make(t.Context(), inventory.Thing{Kind: "planet"}, func(*inventory.Thing) error { return nil }); err == nil {
		t.Error("an unknown kind was made")
	}
}

// When making fails, what came about goes, and what is not ours stays.
func TestBookFailedMake(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	boom := errors.New("boom")
	half, full := filepath.Join(at, "half"), filepath.Join(at, "full")
	_, err := b.Make(t.Context(), inventory.Thing{Kind: inventory.Tree, Name: half}, func(*inventory.Thing) error { return errors.Join(os.Mkdir(half, 0o755), boom) })
	if !errors.Is(err, boom) || exists(half) {
		t.Errorf("%v; the directory is left: %v", err, exists(half))
	}
	_, err = b.Make(t.Context(), inventory.Thing{Kind: inventory.Tree, Name: full}, func(*inventory.Thing) error {
		return errors.Join(os.Mkdir(full, 0o755), os.WriteFile(filepath.Join(full, "somebody's"), nil, 0o600))
	})
	if err == nil || !exists(full) {
		t.Errorf("a directory without a marker was taken away: %v", err)
	}
	must(t, b.Close(t.Context()))
}

// Each way in which a tree can have become another's.
func TestTreeThatIsNotOurs(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"no marker":        func(d string) error { return os.Remove(filepath.Join(d, inventory.Marker)) },
		"marker of others": func(d string) error { return os.WriteFile(filepath.Join(d, inventory.Marker), []byte("run9"), 0o600) },
		"a link": func(d string) error {
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(d+"2", d))
		},
		"another directory": func(d string) error {
			return errors.Join(os.Rename(d, d+"2"), os.Mkdir(d, 0o755), os.WriteFile(filepath.Join(d, inventory.Marker), nil, 0o600))
		},
	} {
		h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
		b := open(t, h, books, "run1")
		dir := filepath.Join(at, "lab")
		tree(t, b, h, dir, "run1")
		must(t, change(dir))
		if err := b.Close(t.Context()); !errors.Is(err, inventory.ErrForeign) || !exists(dir) {
			t.Errorf("%s: %v, there: %v", name, err, exists(dir))
		}
	}
}

// A link inside a tree is removed, what it leads to is not.
func TestTreeFollowsNoLinks(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	b := open(t, h, books, "run1")
	dir, precious := filepath.Join(at, "lab"), filepath.Join(at, "precious")
	tree(t, b, h, dir, "run1")
	must(t, errors.Join(os.Mkdir(precious, 0o755), os.WriteFile(filepath.Join(precious, "data"), nil, 0o600), os.Symlink(precious, filepath.Join(dir, "link"))))
	must(t, b.Close(t.Context()))
	if exists(dir) || !exists(filepath.Join(precious, "data")) {
		t.Error("the tree is left, or more than the tree is gone")
	}
}

// A damaged book and one of a later form are named; the others are swept.
func TestSweepGoesOn(t *testing.T) {
	h, books, at := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	text := func(run string) []byte {
		b := open(t, h, books, run)
		tree(t, b, h, filepath.Join(at, run), run)
		text, err := os.ReadFile(b.Die())
		must(t, err)
		return text
	}
	damaged := text("damaged")
	text("later")
	text("whole")
	must(t, os.WriteFile(filepath.Join(books, "damaged.book"), []byte(strings.Replace(string(damaged), "intent", "intend", 1)), 0o600))
	first, err := new(journal.Log).Append(time.Now(), "begin", map[string]any{"version": 99, "run": "later"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(books, "later.book"), first, 0o600))
	must(t, os.WriteFile(filepath.Join(books, "empty.book"), nil, 0o600))
	left, err := kinds.Books(h, books).List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "damaged.book") || !strings.Contains(err.Error(), "later.book") || len(left) != 2 {
		t.Errorf("listed %+v, %v", left, err)
	}
	swept, err := kinds.Books(h, books).Sweep(t.Context())
	if err == nil || !strings.Contains(err.Error(), "damaged.book") || !strings.Contains(err.Error(), "later.book") || len(swept) != 1 || swept[0].Err != nil {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if exists(filepath.Join(at, "whole")) || !exists(filepath.Join(at, "damaged")) || !exists(filepath.Join(at, "later")) {
		t.Error("the wrong ones were swept")
	}
	if exists(filepath.Join(books, "whole.book")) || exists(filepath.Join(books, "empty.book")) || !exists(filepath.Join(books, "damaged.book")) {
		t.Error("the wrong books are left")
	}
}
