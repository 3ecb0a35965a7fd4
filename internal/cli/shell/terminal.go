package shell

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"plumb/internal/view/page"
)

// Screen finds out how wide the output is and whether it takes colour. A pipe
// gets 80 columns, so that a report can be put into a ticket or a mail.
func Screen(out io.Writer) page.Screen {
	s := page.Screen{Width: 80, ASCII: !utf8Locale()}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	f := FileOf(out)
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		s.Width = w
	}
	s.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" // an empty one says nothing: no-color.org
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

// IsTerminal reports whether a person watches this stream.
func IsTerminal(w io.Writer) bool {
	f := FileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
