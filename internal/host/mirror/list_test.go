package mirror

import (
	"strings"
	"testing"
)

// What a crash leaves of a line is none, nor does it spoil the next.
func TestParseCopied(t *testing.T) {
	sum := strings.Repeat("a", 64)
	whole := copied{sum, stamp{1, 2, 3}, stamp{4, 5, 6}}
	line := whole.line("0:a \"b\"\nc\xff")
	for cut := range line {
		got := parseCopied([]byte(line[:cut] + copied{sum, stamp{7, 7, 7}, stamp{}}.line("0:d") + line))
		if len(got) != 1 && !(cut == 0 && len(got) == 2) || got["0:a \"b\"\nc\xff"] != whole {
			t.Fatalf("cut at %d: %v", cut, got)
		}
	}
	later := whole
	later.new.changed = 9
	if got := parseCopied([]byte(line + later.line("0:a \"b\"\nc\xff"))); got["0:a \"b\"\nc\xff"] != later {
		t.Errorf("%v", got)
	}
}

func FuzzParseCopied(f *testing.F) {
	f.Add([]byte(copied{strings.Repeat("a", 64), stamp{1, 2, 3}, stamp{4, 5, 6}}.line("0:a")))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, c := range parseCopied(text) {
			if again := parseCopied([]byte(c.line(name))); again[name] != c {
				t.Errorf("%q: %v became %v", name, c, again)
			}
		}
	})
}
