package redact

import "strings"

// Command names a command in an error. Of a script that is one of its arguments its first line is enough: what went wrong comes after it.
func Command(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if first, _, more := strings.Cut(w, "\n"); more {
			w = first + " …"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}
