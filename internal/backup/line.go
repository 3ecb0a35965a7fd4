package backup

import (
	"context"
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/redact"
)

// Line gives the command that runs a line of shell. home is the home directory in which the programs of the line find their
// logins: ~/.my.cnf, ~/.pgpass. If a shell here can do that (bash can, Debian's sh cannot), a pipeline fails when any part of it
// does: the gzip after a dump that broke off succeeds, and its output would be taken for a backup.
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

// Told is a line with its secrets replaced, as it may be shown and written down.
func Told(line string) string { return redact.Text(line) }

// NameOf names the output of a line after its program, for lines that nobody has named. It skips assignments before the program:
// they may hold a password, and everybody who reaches the store can read the name in the manifest. If only a shell could tell
// where an assignment ends, the name says nothing.
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
