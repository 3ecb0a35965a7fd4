package point

import (
	"regexp"
	"strings"
)

// What an element is.
const (
	aBlank   = "blank"
	aComment = "comment"
	aString  = "string"
	aName    = "quoted name"
	aWord    = "word"
	aSign    = "sign"
)

const blanks = " \t\r\n\f\v"

// element gives the size of that with which a text begins, and what it is; -1 when it does not end.
func element(text string) (size int, what string) {
	switch c := text[0]; {
	case strings.IndexByte(blanks, c) >= 0:
		return 1, aBlank
	case strings.HasPrefix(text, "--"):
		return lineOf(text), aComment
	case strings.HasPrefix(text, "/*"):
		return comment(text), aComment
	case strings.HasPrefix(text, "E'") || strings.HasPrefix(text, "e'"):
		return inQuotes(text, 2, '\'', true), aString
	case c == '\'':
		return inQuotes(text, 1, '\'', false), aString
	case c == '"':
		return inQuotes(text, 1, '"', false), aName
	case c == '$':
		return dollar(text)
	case inWord(c):
		size := 1
		for size < len(text) && (inWord(text[size]) || text[size] == '$') {
			size++
		}
		return size, aWord
	}
	return 1, aSign
}

// lineOf is the size of the first line, without its end.
func lineOf(text string) int {
	if end := strings.IndexAny(text, "\r\n"); end >= 0 {
		return end
	}
	return len(text)
}

// comment gives the size of a comment, in which others can be.
func comment(text string) int {
	depth := 0
	for at := 0; at+1 < len(text); at++ {
		switch text[at : at+2] {
		case "/*":
			depth++
			at++
		case "*/":
			depth--
			at++
		}
		if depth == 0 {
			return at + 1
		}
	}
	return -1
}

// inWord tells whether a byte can be in a name or number.
func inWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// inQuotes gives the size of what is in quotes, which opened before at. The quote itself stands in them twice. Only with escapes
// a backslash takes its meaning from the next: sessions with masks have standard_conforming_strings on.
func inQuotes(text string, at int, quote byte, escapes bool) int {
	for ; at < len(text); at++ {
		switch {
		case escapes && text[at] == '\\':
			at++
		case text[at] != quote:
		case at+1 < len(text) && text[at+1] == quote:
			at++
		default:
			return at + 1
		}
	}
	return -1
}

// dollarQuote opens a string that ends with the same again.
var dollarQuote = regexp.MustCompile(`^\$(?:[A-Za-z_\x{80}-\x{10ffff}][A-Za-z0-9_\x{80}-\x{10ffff}]*)?\$`)

// dollar reads a string in dollar quotes, or the sign alone, as in $1.
func dollar(text string) (size int, what string) {
	open := dollarQuote.FindString(text)
	if open == "" {
		return 1, aSign
	}
	end := strings.Index(text[len(open):], open)
	if end < 0 {
		return -1, aString
	}
	return len(open) + end + len(open), aString
}
