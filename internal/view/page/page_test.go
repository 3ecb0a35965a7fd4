package page

import (
	"strings"
	"testing"
)

// columns counts as a terminal does: the characters of the East Asian names of these tests take two.
func columns(s string) (n int) {
	for _, r := range s {
		n++
		if r >= 0x2e80 {
			n++
		}
	}
	return n
}

func TestWideCharacters(t *testing.T) {
	const name = "名前"
	p := NewPage(Screen{Width: 60})
	p.Hang(Normal, "  name    ", strings.Repeat(name, 40))
	p.Hang(Normal, "  words   ", strings.Repeat(name+" ", 40))
	p.Sides("", Normal, strings.Repeat(name, 10), Dim, "to the right")
	p.Line(Normal, Columns(name, 10)+Right(name, 10)+"|")
	lines := strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n")
	for _, l := range lines {
		if columns(l) > 60 {
			t.Errorf("a line of %d columns: %s", columns(l), l)
		}
	}
	if side := lines[len(lines)-2]; columns(side) != 60 {
		t.Errorf("what is to be at the right margin ends in column %d: %s", columns(side), side)
	}
	if last := lines[len(lines)-1]; columns(last) != 21 {
		t.Errorf("the table is %d columns wide: %s", columns(last), last)
	}
	for n, want := range map[int]string{0: "", 1: "…", 4: "名…", 5: "名前…", 8: "名前名前"} {
		if got := Cut(name+name, n); got != want {
			t.Errorf("cut to %d columns: %q, want %q", n, got, want)
		}
	}
}

// A name in which somebody wrote an end of line could otherwise go on as if Plumb said the rest.
func TestNamesDoNotGoOnInANewLine(t *testing.T) {
	const name = "a\nEverything is fine"
	p := NewPage(Screen{})
	p.Line(Normal, name)
	p.Para(Normal, 0, name)
	p.Hang(Normal, name, name)
	p.Sides("", Normal, name, Dim, name)
	p.Tree(Node{Rows: []Row{{Name: name, Detail: name}}, Kids: []Node{{Rows: []Row{{Name: name, Detail: name}}}}})
	for l := range strings.Lines(p.String()) {
		if strings.HasPrefix(strings.TrimLeft(l, " │"), "Everything") {
			t.Errorf("a line begins with what somebody wrote:\n%s", p.String())
		}
	}
}
