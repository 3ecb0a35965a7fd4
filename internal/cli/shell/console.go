package shell

import (
	"io"
	"os"

	"plumb/internal/view/page"
)

// console is standard error. Nothing that is written to it can drive a
// terminal: messages name files, hosts and places that come from a stranger's
// tape, plan or journal. What Plumb itself does to a line goes through Rewrite.
type console struct{ to io.Writer }

// Write implements io.Writer.
func (c *console) Write(text []byte) (int, error) {
	if _, err := io.WriteString(c.to, page.Clean(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Rewrite puts a text in place of the line that is shown; "" wipes it.
func Rewrite(w io.Writer, text string) {
	if c, ok := w.(*console); ok {
		w = c.to
	}
	// A terminal that is gone changes nothing for what is being done.
	_, _ = io.WriteString(w, "\r"+OneLine(text)+"\x1b[K")
}

// Done wipes the line that rewrites itself, where a person watches.
func (s *Shell) Done() {
	if IsTerminal(s.Err) {
		Rewrite(s.Err, "")
	}
}

// OneLine is a text of which others may have written part, as one line that
// cannot be taken for two.
func OneLine(text string) string { return page.OneLine(text) }

// fileOf gives the file behind a writer, nil for none.
func fileOf(w io.Writer) *os.File {
	if c, ok := w.(*console); ok {
		w = c.to
	}
	f, _ := w.(*os.File)
	return f
}
