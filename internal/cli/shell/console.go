package shell

import (
	"io"
	"os"

	"plumb/internal/view/page"
)

// console is standard error, without control characters: messages name files, hosts and places that can come
// from a stranger's tape, plan or journal, and must not control the terminal. Rewrite
// goes past it.
type console struct{ to io.Writer }

// Write implements io.Writer.
func (c *console) Write(text []byte) (int, error) {
	if _, err := io.WriteString(c.to, page.Clean(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Rewrite replaces the current line of a terminal with a text; "" clears it.
func Rewrite(w io.Writer, text string) {
	if c, ok := w.(*console); ok {
		w = c.to
	}
	// That the terminal is gone is no reason to stop what is being done.
	_, _ = io.WriteString(w, "\r"+OneLine(text)+"\x1b[K")
}

// Done clears the line that Rewrite wrote, if standard error is a terminal.
func (s *Shell) Done() {
	if IsTerminal(s.Err) {
		Rewrite(s.Err, "")
	}
}

// OneLine makes one line of a text that may come from others, so that they cannot
// add lines that look like ours.
func OneLine(text string) string { return page.OneLine(text) }

// FileOf returns the file behind a writer, for whoever needs the terminal itself or hands it to another program; nil for none.
func FileOf(w io.Writer) *os.File {
	switch of := w.(type) {
	case *console:
		w = of.to
	case *output:
		w = of.to
	}
	f, _ := w.(*os.File)
	return f
}
