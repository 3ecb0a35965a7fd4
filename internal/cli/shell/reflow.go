package shell

import (
	"strings"

	"plumb/internal/view/page"
)

// Reflow fits the paragraphs of a help text to a width. Lines that are indented
// are lists and examples, and stay as they are.
func Reflow(text string, width int) string {
	var out []string
	for _, part := range strings.Split(text, "\n\n") {
		lines := strings.Split(part, "\n")
		for len(lines) > 0 {
			n := 0
			for n < len(lines) && lines[n] != "" && !strings.HasPrefix(lines[n], " ") {
				n++
			}
			if n > 0 {
				out = append(out, page.Wrap(strings.Join(lines[:n], " "), width)...)
				lines = lines[n:]
				continue
			}
			out, lines = append(out, lines[0]), lines[1:]
		}
		out = append(out, "")
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}
