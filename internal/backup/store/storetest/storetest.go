// Package storetest is what every store of backups must do. The tests of each run it.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"plumb/internal/backup/store"
)

// Run tries a store that is empty.
func Run(t *testing.T, s store.Store) {
	t.Run("there and back", func(t *testing.T) { thereAndBack(t, s) })
	t.Run("conditions", func(t *testing.T) { conditions(t, s) })
	t.Run("list", func(t *testing.T) { list(t, s) })
	t.Run("names", func(t *testing.T) { names(t, s) })
	t.Run("one of many", func(t *testing.T) { oneOfMany(t, s) })
	t.Run("probe", func(t *testing.T) {
		if is, err := store.Conditional(t.Context(), s); err != nil || !is {
			t.Errorf("conditional: %t, %v", is, err)
		}
	})
}

func put(t *testing.T, s store.Store, name, text string, o store.Put) string {
	t.Helper()
	tag, err := s.Put(t.Context(), name, []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

func get(t *testing.T, s store.Store, name string) (string, string) {
	t.Helper()
	data, tag, err := s.Get(t.Context(), name, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return string(data), tag
}

func thereAndBack(t *testing.T, s store.Store) {
	for _, text := range []string{"a", "bc", strings.Repeat("long ", 100_000)} {
		tag := put(t, s, "a/b/c", text, store.Put{})
		if got, now := get(t, s, "a/b/c"); got != text || now != tag || tag == "" {
			t.Errorf("%d bytes with tag %q, and it was %d with %q", len(got), now, len(text), tag)
		}
	}
	if _, _, err := s.Get(t.Context(), "a/b/c", make([]byte, 499_999)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a buffer that is too small: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "a/b/d", make([]byte, 10)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), "a/b/c"); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := s.Get(t.Context(), "a/b/c", make([]byte, 10)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was removed: %v", err)
	}
}

func conditions(t *testing.T, s store.Store) {
	first := put(t, s, "lease", "one", store.Put{New: true})
	if _, err := s.Put(t.Context(), "lease", []byte("two"), store.Put{New: true}); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	second := put(t, s, "lease", "three", store.Put{Was: first})
	if _, err := s.Put(t.Context(), "lease", []byte("four"), store.Put{Was: first}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("in place of one that is gone: %v", err)
	}
	if got, tag := get(t, s, "lease"); got != "three" || tag != second {
		t.Errorf("%q with %q, and not %q", got, tag, second)
	}
	if err := s.Delete(t.Context(), "lease"); err != nil {
		t.Error(err)
	}
	if _, err := s.Put(t.Context(), "lease", []byte("five"), store.Put{Was: second}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("in place of one that was removed: %v", err)
	}
}

// list needs more objects than one answer of a store holds.
func list(t *testing.T, s store.Store) {
	var want []string
	for i := range 1100 {
		name := fmt.Sprintf("l/%04d", i)
		put(t, s, name, "x", store.Put{})
		want = append(want, name)
	}
	put(t, s, "l2/0", "xx", store.Put{})
	var got []string
	err := s.List(t.Context(), "l/", func(i store.Info) error {
		if i.Size != 1 {
			t.Errorf("%+v", i)
		}
		got = append(got, i.Name)
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d of %d, %v", len(got), len(want), err)
	}
	stop := errors.New("enough")
	n := 0
	if err := s.List(t.Context(), "l", func(store.Info) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("stopped after %d: %v", n, err)
	}
	if err := s.List(t.Context(), "none/", func(store.Info) error { return stop }); err != nil {
		t.Error(err)
	}
}

func names(t *testing.T, s store.Store) {
	for _, name := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", ".a", "a\\b", "a b", "a\x00", "ä", strings.Repeat("a", store.MaxName+1)} {
		if _, err := s.Put(t.Context(), name, []byte("x"), store.Put{}); err == nil {
			t.Errorf("%q is taken", name)
		}
		if _, _, err := s.Get(t.Context(), name, make([]byte, 10)); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q is looked for: %v", name, err)
		}
		if err := s.Delete(t.Context(), name); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
}

// oneOfMany is the reason for conditions: of many who begin at once one wins.
func oneOfMany(t *testing.T, s store.Store) {
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := s.Put(t.Context(), "race", bytes.Repeat([]byte{byte('a' + i)}, 1000), store.Put{New: true})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, store.ErrExists):
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 were the first", won.Load())
	}
}
