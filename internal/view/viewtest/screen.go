package viewtest

import (
	"strings"
	"testing"

	"plumb/internal/view/page"
)

// Fits wants no line of a text to be wider than a screen.
func Fits(t *testing.T, name, text string, width int) {
	t.Helper()
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\n"); page.Width(l) > width {
			t.Errorf("%s at %d columns has a line of %d: %s", name, width, page.Width(l), l)
		}
	}
}

// IsASCII wants a text to be of printable ASCII characters, in lines.
func IsASCII(t *testing.T, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' }); i >= 0 {
		t.Errorf("not ASCII: %q", text[i:min(len(text), i+20)])
	}
}
