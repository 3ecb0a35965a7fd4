package cli

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"plumb/internal/view/page"
)

// screen finds out how wide the output is and whether it takes colour. A pipe
// gets 80 columns, so that a report can be put into a ticket or a mail.
func screen(out io.Writer) page.Screen {
	s := page.Screen{Width: 80, ASCII: !utf8Locale()}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	f := fileOf(out)
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		s.Width = w
	}
	_, no := os.LookupEnv("NO_COLOR")
	s.Colour = !no && os.Getenv("TERM") != "dumb"
	return s
}

// utf8Locale reports whether characters beyond ASCII may be printed: always,
// unless a locale is set that says otherwise. Containers often have none, and
// terminals that know no UTF-8 are set up on purpose.
func utf8Locale() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	name := strings.ReplaceAll(strings.ToLower(locale), "-", "")
	return locale == "" || strings.Contains(name, "utf8")
}

// isTerminal reports whether a person watches this stream.
func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// console is standard error. Nothing that is written to it can drive a
// terminal: messages name files, hosts and places that come from a stranger's
// tape, plan or journal. What Plumb itself does to a line goes through rewrite.
type console struct{ to io.Writer }

// Write implements io.Writer.
func (c *console) Write(text []byte) (int, error) {
	if _, err := io.WriteString(c.to, page.Plain(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// rewrite puts a text in place of the line that is shown; "" wipes it.
func rewrite(w io.Writer, text string) {
	if c, ok := w.(*console); ok {
		w = c.to
	}
	// A terminal that is gone changes nothing for what is being done.
	_, _ = io.WriteString(w, "\r"+oneLine(text)+"\x1b[K")
}

// oneLine is a text of which others may have written part, as one line that
// cannot be taken for two.
func oneLine(text string) string {
	return strings.ReplaceAll(page.Plain(strings.TrimSpace(text)), "\n", "; ")
}

// fileOf gives the file behind a writer, nil for none.
func fileOf(w io.Writer) *os.File {
	if c, ok := w.(*console); ok {
		w = c.to
	}
	f, _ := w.(*os.File)
	return f
}
