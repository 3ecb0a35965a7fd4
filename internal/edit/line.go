package edit

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// line is one line of a text, without its end.
type line struct {
	text   string
	at     int // of its first byte
	number int // 1-based
}

// lines gives the lines of a text.
func lines(text []byte) iter.Seq[line] {
	return func(yield func(line) bool) {
		at, number := 0, 0
		for raw := range bytes.Lines(text) {
			number++
			l := line{strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), at, number}
			if !yield(l) {
				return
			}
			at += len(raw)
		}
	}
}

// blanks are what separates words. A no-break space does not: the programs
// that read these files take it for a letter.
const blanks = " \t\r\v\f"

// trim takes the blanks off the ends.
func trim(s string) string { return strings.Trim(s, blanks) }

// trimmed gives the line without blanks at its ends, and where it begins.
func (l line) trimmed() (text string, at int) {
	left := strings.TrimLeft(l.text, blanks)
	return trim(left), l.at + len(l.text) - len(left)
}

// word is a piece of a line between blanks.
type word struct {
	text string
	at   int
}

// fields splits a line at blanks and keeps where each word stands.
func (l line) fields() []word {
	var out []word
	begin := -1
	for i := 0; i <= len(l.text); i++ {
		blank := i == len(l.text) || strings.IndexByte(blanks, l.text[i]) >= 0
		switch {
		case blank && begin >= 0:
			out = append(out, word{l.text[begin:i], l.at + begin})
			begin = -1
		case !blank && begin < 0:
			begin = i
		}
	}
	return out
}

// eol is how lines of a text end.
func eol(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// appended gives the text with a line at its end.
func appended(text []byte, add string) []byte {
	return insertedAt(text, len(text), add)
}

// insertedAt puts lines at the beginning of a line, or at the end.
func insertedAt(text []byte, at int, add string) []byte {
	end := eol(text)
	add = strings.ReplaceAll(strings.TrimSuffix(add, "\n"), "\n", end) + end
	if at > 0 && text[at-1] != '\n' {
		add = end + add
	}
	return slices.Concat(text[:at], []byte(add), text[at:])
}

// afterLine gives the place after a line.
func afterLine(text []byte, l line) int {
	if i := bytes.IndexByte(text[l.at:], '\n'); i >= 0 {
		return l.at + i + 1
	}
	return len(text)
}

var errBlank = errors.New("the value is empty or holds a blank, a quote or a comment sign, which this file cannot hold")

// bare wants a value of one plain word.
func bare(value string) (string, error) {
	if value == "" || strings.ContainsAny(value, " \t\r\n\v\f\"'`#;\\") {
		return "", errBlank
	}
	return value, nil
}

// oneLine wants a value without line ends and without blanks at its ends.
func oneLine(value string) (string, error) {
	if value == "" || strings.ContainsAny(value, "\r\n") || strings.TrimSpace(value) != value {
		return "", fmt.Errorf("%q does not fit on one line", value)
	}
	return value, nil
}
