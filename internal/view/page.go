package view

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Screen says how text is to be laid out.
type Screen struct {
	Width  int  // columns; 0 means 80
	Colour bool // ANSI colours
	ASCII  bool // no character beyond ASCII
}

// Narrow and wide ends of a page. Below the narrow end lines run over rather
// than turn into ladders. Tables and trees use a page up to the wide end;
// sentences stop at maxText, above which a line is hard to read.
const (
	minWidth = 60
	maxWidth = 120
	maxText  = 100
)

// page collects lines of text. Everything it is given is cleaned of control
// characters first: names and values come from the host, or from a stranger's
// tape, and must not be able to drive the terminal.
type page struct {
	width  int // of tables and trees
	text   int // of sentences
	colour bool
	ascii  bool
	out    strings.Builder
}

func newPage(s Screen) *page {
	w := s.Width
	if w == 0 {
		w = 80
	}
	w = min(max(w, minWidth), maxWidth)
	return &page{width: w, text: min(w, maxText), colour: s.Colour, ascii: s.ASCII}
}

// ink is how a piece of text stands out.
type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	red    ink = "1;31"
	yellow ink = "33"
	cyan   ink = "36"
)

func (p *page) paint(i ink, s string) string {
	if !p.colour || i == plain || s == "" {
		return s
	}
	return "\x1b[" + string(i) + "m" + s + "\x1b[0m"
}

func (p *page) blank() { p.out.WriteByte('\n') }

// line writes one line as it is.
func (p *page) line(i ink, s string) {
	s = strings.TrimRight(clean(s), " ")
	p.out.WriteString(p.paint(i, s))
	p.out.WriteByte('\n')
}

// para writes s wrapped, each line indented.
func (p *page) para(i ink, indent int, s string) { p.hang(i, strings.Repeat(" ", indent), s) }

// hang writes s wrapped; the first line starts with head, the others are
// indented as far.
func (p *page) hang(i ink, head, s string) { p.labelled(plain, head, i, s) }

func (p *page) labelled(headInk ink, head string, i ink, s string) {
	p.within(p.text, headInk, head, i, s)
}

// within is labelled for a line of at most w columns.
func (p *page) within(w int, headInk ink, head string, i ink, s string) {
	head = clean(head)
	pad := strings.Repeat(" ", width(head))
	for n, l := range wrap(clean(s), w-width(head)) {
		h := pad
		if n == 0 {
			h = p.paint(headInk, head)
		}
		p.out.WriteString(strings.TrimRight(h+p.paint(i, l), " "))
		p.out.WriteByte('\n')
	}
}

// sides writes left at the margin and right at the other one; when both do
// not fit, right goes on a line of its own below left.
func (p *page) sides(head string, leftInk ink, left string, rightInk ink, right string) {
	left, right = clean(left), clean(right)
	room := p.text - width(head)
	lines := wrap(left, room)
	last := lines[len(lines)-1]
	for n, l := range lines {
		h := head
		if n > 0 {
			h = strings.Repeat(" ", width(head))
		}
		p.out.WriteString(h + p.paint(leftInk, l))
		if n < len(lines)-1 {
			p.out.WriteByte('\n')
		}
	}
	gap := room - width(last) - width(right)
	if gap < 2 { // no room for two columns between them
		p.out.WriteByte('\n')
		p.para(rightInk, width(head), right)
		return
	}
	p.out.WriteString(strings.Repeat(" ", gap) + p.paint(rightInk, right) + "\n")
}

// String gives the page. For a terminal without UTF-8 the signs that Plumb
// draws with become their nearest ASCII ones, of the same width.
func (p *page) String() string {
	if !p.ascii {
		return p.out.String()
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '·', '─', '–', '—', '−':
			return '-'
		case '│', '├':
			return '|'
		case '└':
			return '`'
		case '…', '±':
			return '~'
		case '×':
			return 'x'
		}
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, p.out.String())
}

func width(s string) int { return utf8.RuneCountInString(s) }

// Plain is a text of which strangers may have written part, without what could
// drive a terminal or reorder text: for all that goes there by another way
// than a page.
func Plain(s string) string { return clean(s) }

// clean replaces what could drive a terminal or reorder text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == noBreak:
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError:
			return '?'
		}
		return r
	}, s)
}

// columns pads s on the right to n columns, and always leaves one space.
func columns(s string, n int) string {
	return s + strings.Repeat(" ", max(1, n-width(s)))
}

// count writes "1 finding", "2 findings".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// join strings a list as a sentence's words: "a, b and c".
func join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// few joins the first n of a list and counts the rest.
func few(list []string, n int) string {
	if len(list) <= n+1 {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:n], ", ") + " and " + count(len(list)-n, "other")
}
