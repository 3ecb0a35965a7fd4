package process

import (
	"slices"
	"testing"
)

// The name of a process is its own to choose: blanks, parentheses, line feeds
// and bytes that are no text.
func TestParseUsage(t *testing.T) {
	const rest = " S 1 17 17 0 -1 4194560 12345 99 3 0 250 130 70 20 20 0 37 0 4711 3623878656 39311"
	want := Usage{Parent: 1, Start: 4711, User: 250, System: 130, ChildrenUser: 70, ChildrenSystem: 20, Threads: 37}
	for _, name := range []string{"mariadbd", "a b", "x) R 9 (y", "line\nfeed) S 2", "\xff\xfe"} {
		got, ok := ParseUsage([]byte("17 (" + name + ")" + rest + "\n"))
		if !ok || got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
	if _, ok := ParseUsage([]byte("17 (x) S 1 2 3")); ok {
		t.Error("a line without counts was read")
	}
}

func TestParseIO(t *testing.T) {
	got, ok := ParseIO([]byte("rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"))
	if !ok || got != (IO{4096, 8192}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := ParseIO([]byte("read_bytes: 1\n")); ok {
		t.Error("what is not there was read")
	}
}

func TestParseChildren(t *testing.T) {
	if got := ParseChildren([]byte("12 x 13 -4 0 14 ")); !slices.Equal(got, []int{12, 13, 14}) {
		t.Errorf("%v", got)
	}
}
