package backup

import (
	"context"
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/redact"
)

// Line is how a line for the shell is run, by somebody whose home has the logins of its programs: ~/.my.cnf, ~/.pgpass. A pipeline in
// it fails where any of its parts does, if a shell is here that can tell: gzip behind a dump that broke off ends well, and what it
// gave would be taken for a backup. Debian's sh cannot, and bash can.
func Line(ctx context.Context, d host.Doer, home, line string) []string {
	argv := []string{"/bin/sh", "-c", line}
	for _, shell := range []string{"/bin/bash", "/bin/sh"} {
		if _, err := d.Run(ctx, shell, "-o", "pipefail", "-c", ":"); err == nil {
			argv = []string{shell, "-o", "pipefail", "-c", line}
			break
		}
	}
	if home != "" {
		argv = append([]string{"env", "HOME=" + home}, argv...)
	}
	return argv
}

// Told is a line without what is secret in it, as it may be shown and written down.
func Told(line string) string { return redact.Text(line) }

// NameOf is what the output of a line is called where nobody said: by its program. What is assigned before that can be a
// password, and the name stands in the manifest, which everybody reads who reaches the store. Where only a shell knows the end of
// what is assigned the name is none.
func NameOf(line string) string {
	quote := "" // that is open
	for word := range strings.FieldsSeq(line) {
		if quote != "" {
			if strings.Contains(word, quote) {
				quote = ""
			}
			continue
		}
		if name, value, is := strings.Cut(word, "="); is && !strings.Contains(name, "/") {
			if strings.ContainsAny(value, "\\`$") {
				return unnamed
			}
			quote = leftOpen(value)
			continue
		}
		if word = strings.Trim(path.Base(word), `'"(){};&|!./`); word != "" {
			return word
		}
	}
	return unnamed
}

const unnamed = "command"

// leftOpen is the quote that a word opens and does not close.
func leftOpen(word string) string {
	for _, quote := range []string{`'`, `"`} {
		if strings.Count(word, quote)%2 == 1 {
			return quote
		}
	}
	return ""
}
