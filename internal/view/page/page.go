package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
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

// Page collects lines of text. Everything it is given is cleaned of control
// characters and ends of lines first: names and values come from the host, or from
// a stranger's tape, and must not be able to drive the terminal, nor go on in a new
// line as if Plumb said the rest.
type Page struct {
	Width  int // of tables and trees
	Text   int // of sentences
	colour bool
	ascii  bool
	out    strings.Builder
}

// NewPage makes an empty page for a screen.
func NewPage(s Screen) *Page {
	w := s.Width
	if w == 0 {
		w = 80
	}
	w = min(max(w, minWidth), maxWidth)
	return &Page{Width: w, Text: min(w, maxText), colour: s.Colour, ascii: s.ASCII}
}

// Ink is how a piece of text stands out.
type Ink string

const (
	Normal Ink = ""
	Bold   Ink = "1"
	Dim    Ink = "2"
	Red    Ink = "1;31"
	Yellow Ink = "33"
	Cyan   Ink = "36"
)

func (p *Page) paint(i Ink, s string) string {
	if !p.colour || i == Normal || s == "" {
		return s
	}
	return "\x1b[" + string(i) + "m" + s + "\x1b[0m"
}

// Blank writes an empty line.
func (p *Page) Blank() { p.out.WriteByte('\n') }

// Line writes one line as it is.
func (p *Page) Line(i Ink, s string) {
	s = strings.TrimRight(oneLine(s), " ")
	p.out.WriteString(p.paint(i, s))
	p.out.WriteByte('\n')
}

// Para writes s wrapped, each line indented.
func (p *Page) Para(i Ink, indent int, s string) { p.Hang(i, strings.Repeat(" ", indent), s) }

// Hang writes s wrapped; the first line starts with head, the others are
// indented as far.
func (p *Page) Hang(i Ink, head, s string) { p.Labelled(Normal, head, i, s) }

// List writes texts below one another, the first beside their label.
func (p *Page) List(i Ink, label string, texts []string) {
	for _, text := range texts {
		p.Hang(i, label, text)
		label = strings.Repeat(" ", Width(label))
	}
}

// Labelled writes a text beside its label, and what does not fit below itself.
func (p *Page) Labelled(headInk Ink, head string, i Ink, s string) {
	p.Within(p.Text, headInk, head, i, s)
}

// Within is labelled for a line of at most w columns.
func (p *Page) Within(w int, headInk Ink, head string, i Ink, s string) {
	head = oneLine(head)
	pad := strings.Repeat(" ", Width(head))
	for n, l := range Wrap(oneLine(s), w-Width(head)) {
		h := pad
		if n == 0 {
			h = p.paint(headInk, head)
		}
		p.out.WriteString(strings.TrimRight(h+p.paint(i, l), " "))
		p.out.WriteByte('\n')
	}
}

// Sides writes left at the margin and right at the other one; when both do
// not fit, right goes on a line of its own below left.
func (p *Page) Sides(head string, leftInk Ink, left string, rightInk Ink, right string) {
	left, right = oneLine(left), oneLine(right)
	room := p.Text - Width(head)
	lines := Wrap(left, room)
	last := lines[len(lines)-1]
	for n, l := range lines {
		h := head
		if n > 0 {
			h = strings.Repeat(" ", Width(head))
		}
		p.out.WriteString(h + p.paint(leftInk, l))
		if n < len(lines)-1 {
			p.out.WriteByte('\n')
		}
	}
	gap := room - Width(last) - Width(right)
	if gap < 2 { // no room for two columns between them
		p.out.WriteByte('\n')
		p.Para(rightInk, Width(head), right)
		return
	}
	p.out.WriteString(strings.Repeat(" ", gap) + p.paint(rightInk, right) + "\n")
}

// String gives the page. For a terminal without UTF-8 the signs that Plumb
// draws with become their nearest ASCII ones, of the same width.
func (p *Page) String() string {
	if !p.ascii {
		return p.out.String()
	}
	return ASCII(p.out.String())
}

// ASCII is a text for a terminal without UTF-8.
func ASCII(s string) string {
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
		case '█':
			return '#'
		case '›':
			return '>'
		}
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

// Width is how many columns a text takes: some characters take two.
func Width(s string) int { return lipgloss.Width(s) }

// Cut shortens a text to n columns: what comes last tells least.
func Cut(s string, n int) string {
	switch r := []rune(s); {
	case n <= 0:
		return ""
	case Width(s) <= n:
		return s
	default:
		return string(r[:within(r, n-1)]) + "…"
	}
}

// within is how many characters from the first take at most n columns.
func within(r []rune, n int) int {
	for i := range r {
		if n -= Width(string(r[i])); n < 0 {
			return i
		}
	}
	return len(r)
}

// Clean replaces what could drive a terminal or reorder text: strangers may
// have written part of it.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == NoBreak:
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError:
			return '?'
		}
		return r
	}, s)
}

// OneLine is a text of which others may have written part, as one line that cannot be taken for two.
func OneLine(text string) string { return oneLine(strings.TrimSpace(text)) }

// oneLine keeps spaces at the beginning.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimRight(Clean(text), "\n"), "\n", "; ")
}

// Columns pads s on the right to n columns, and always leaves one space.
func Columns(s string, n int) string {
	return s + strings.Repeat(" ", max(1, n-Width(s)))
}

// Join strings a list as a sentence's words: "a, b and c".
func Join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
