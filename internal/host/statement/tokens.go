package statement

import (
	"strings"
	"unicode/utf8"
)

// sqlTokens divides a statement into lower-case words and signs. Strings
// become one token "'", quoted names are kept as words, comments go. It
// reports false for what different servers would read differently: a comment
// that MySQL executes, an unclosed quote or a backslash in a string, which
// ends the string on one server and not on another.
func sqlTokens(query string) ([]string, bool) {
	var tokens []string
	for i := 0; i < len(query); {
		rest := query[i:]
		token, size, ok := sqlToken(rest)
		if !ok {
			return nil, false
		}
		if token != "" {
			tokens = append(tokens, token)
		}
		i += size
	}
	return tokens, true
}

// sqlToken reads one token at the beginning of s, which is not empty, and
// tells how many bytes it took. Space and comments give an empty token.
func sqlToken(s string) (token string, size int, ok bool) {
	switch c := s[0]; {
	case c == 0 || c == '\\':
		return "", 0, false
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return "", 1, true
	case c == '#': // a comment in MySQL, an operator in PostgreSQL
		return "", 0, false
	case strings.HasPrefix(s, "--"):
		return sqlLineComment(s)
	case strings.HasPrefix(s, "/*"):
		return sqlComment(s)
	case c == '\'' || c == '"' || c == '`':
		return sqlQuoted(s)
	case c == '$':
		return sqlDollar(s)
	case isWordByte(c):
		end := 1
		for end < len(s) && (isWordByte(s[end]) || s[end] == '$') {
			end++
		}
		return strings.ToLower(s[:end]), end, true
	case strings.HasPrefix(s, ":="):
		return ":=", 2, true
	}
	return s[:1], 1, true
}

func isWordByte(c byte) bool {
	return c == '_' || c == '@' || c >= utf8.RuneSelf ||
		(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// sqlLineComment: MySQL wants a space after the two dashes, PostgreSQL does
// not; without one they disagree.
func sqlLineComment(s string) (string, int, bool) {
	if len(s) > 2 && s[2] != ' ' && s[2] != '\t' && s[2] != '\n' {
		return "", 0, false
	}
	if end := strings.IndexAny(s, "\n"); end >= 0 {
		return "", end + 1, true
	}
	return "", len(s), true
}

// sqlComment: PostgreSQL nests comments and MySQL executes those that begin
// with "!", so only the plain kind is understood.
func sqlComment(s string) (string, int, bool) {
	end := strings.Index(s[2:], "*/")
	if end < 0 {
		return "", 0, false
	}
	inside := s[2 : 2+end]
	if strings.Contains(inside, "/*") || strings.HasPrefix(inside, "!") || strings.HasPrefix(inside, "M!") || strings.HasPrefix(inside, "+") {
		return "", 0, false
	}
	return "", end + 4, true
}

// sqlQuoted reads a string or a quoted name; the quote is doubled inside.
func sqlQuoted(s string) (string, int, bool) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\', 0:
			return "", 0, false
		case quote:
			if i+1 < len(s) && s[i+1] == quote {
				i++
				continue
			}
			if quote == '\'' {
				return "'", i + 1, true
			}
			return strings.ToLower(s[1:i]) + " ", i + 1, true // a space: never a keyword
		}
	}
	return "", 0, false
}

// sqlDollar reads a parameter such as $1. PostgreSQL's strings between dollar
// signs are refused: no query of ours needs one.
func sqlDollar(s string) (string, int, bool) {
	end := 1
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == 1 || (end < len(s) && (s[end] == '$' || isWordByte(s[end]))) {
		return "", 0, false
	}
	return s[:end], end, true
}
