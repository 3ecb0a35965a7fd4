package inventory_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// forged makes the book of a dead lab that says it limited a device in a file
// of somebody's.
func forged(t *testing.T) (books, book, victim string) {
	t.Helper()
	h, books := hosttest.LiveDoer(t), t.TempDir()
	victim = filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("7:0 5\nprecious\n"), 0o600))
	b := open(t, h, books, "run1")
	limit := inventory.Thing{Kind: inventory.Limit, Name: victim, Proof: map[string]string{"line": "7:0 5", "undo": "7:0 0"}}
	_, err := b.Make(t.Context(), limit, func(*inventory.Thing) error { return nil })
	must(t, err)
	return books, b.Die(), victim
}

func precious(t *testing.T, victim string) {
	t.Helper()
	if text, err := os.ReadFile(victim); err != nil || string(text) != "7:0 5\nprecious\n" {
		t.Errorf("it holds %q (%v)", text, err)
	}
}

// Whatever a book names as a limit, only files in which the kernel takes limits
// of devices are written to.
func TestALimitIsOfADevice(t *testing.T) {
	books, _, victim := forged(t)
	swept, err := kinds.Books(hosttest.LiveDoer(t), books).Sweep(t.Context())
	if err != nil || len(swept) != 1 || !errors.Is(swept[0].Err, inventory.ErrForeign) {
		t.Errorf("%+v, %v", swept, err)
	}
	precious(t, victim)
}

// A book that somebody else can have written is neither swept nor shown as a
// lab's.
func TestABookIsOurs(t *testing.T) {
	const nobody = 65534
	for name, spoil := range map[string]func(books, book string) error{
		"of another":          func(_, book string) error { return os.Chown(book, nobody, nobody) },
		"open to all":         func(_, book string) error { return os.Chmod(book, 0o666) },
		"open to a group":     func(_, book string) error { return os.Chmod(book, 0o660) },
		"another's directory": func(books, _ string) error { return os.Chown(books, nobody, nobody) },
		"an open directory":   func(books, _ string) error { return os.Chmod(books, 0o777|os.ModeSticky) },
		"a link of somebody's": func(_, book string) error {
			return errors.Join(os.Rename(book, book+".x"), os.Symlink(book+".x", book))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("needs root to give a book to another user")
			}
			books, book, victim := forged(t)
			must(t, spoil(books, book))
			if left, err := kinds.Books(hosttest.LiveDoer(t), books).List(t.Context()); err == nil || len(left) > 0 || !strings.Contains(err.Error(), book) {
				t.Errorf("listed %+v, %v", left, err)
			}
			if swept, err := kinds.Books(hosttest.LiveDoer(t), books).Sweep(t.Context()); err == nil || len(swept) > 0 || !strings.Contains(err.Error(), book) {
				t.Errorf("swept %+v, %v", swept, err)
			}
			precious(t, victim)
			if _, err := os.Lstat(book); err != nil {
				t.Errorf("the book is gone: %v", err)
			}
		})
	}
}
