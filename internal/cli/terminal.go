package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"plumb/internal/view"
)

// screen finds out how wide the output is and whether it takes colour. A pipe
// gets 80 columns, so that a report can be put into a ticket or a mail.
func screen(out io.Writer) view.Screen {
	s := view.Screen{Width: 80}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		s.Width = w
	}
	_, no := os.LookupEnv("NO_COLOR")
	s.Colour = !no && os.Getenv("TERM") != "dumb"
	return s
}

// isTerminal reports whether a person watches this stream.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
