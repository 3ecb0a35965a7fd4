package client

import (
	"errors"
	"strconv"
)

// statement is a query as it was given, taken apart at its placeholders.
type statement struct {
	query  string
	pieces []string // the text before, between and after the parameters

	// Set when it is prepared on the server:
	name   string
	types  []uint32 // of the parameters
	rows   bool     // it gives rows, even if none
	prefix []byte   // what every Bind of it begins with
}

var errMixed = errors.New("a statement has both ? and $1 for parameters: use one of them")

// parseStatement finds the placeholders: every ? outside quotes, quoted names,
// dollar quotes and comments. ?? stands for the operator ?. Strings are read
// by the rules of standard_conforming_strings.
func parseStatement(query string) (*statement, error) {
	s := &statement{query: query}
	var piece []byte
	numbered := false
	for i := 0; i < len(query); {
		n := skipQuoted(query, i)
		switch {
		case n > 0:
		case query[i] != '?':
			n = 1
			numbered = numbered || query[i] == '$' && i+1 < len(query) && isDigit(query[i+1]) && !inWord(query, i)
		case i+1 < len(query) && query[i+1] == '?':
			piece = append(piece, '?')
			i += 2
			continue
		default:
			if inWord(query, i) { // LIMIT?: LIMIT$1 would be a name
				piece = append(piece, ' ')
			}
			s.pieces = append(s.pieces, string(piece))
			piece = piece[:0]
			if i++; i < len(query) && isWord(query[i]) {
				piece = append(piece, ' ')
			}
			continue
		}
		piece = append(piece, query[i:i+n]...)
		i += n
	}
	s.pieces = append(s.pieces, string(piece))
	if numbered && len(s.pieces) > 1 {
		return nil, errMixed
	}
	return s, nil
}

// params is the number of parameters.
func (s *statement) params() int { return len(s.pieces) - 1 }

// text writes the statement with PostgreSQL's placeholders.
func (s *statement) text() []byte {
	out := []byte(s.pieces[0])
	for i, piece := range s.pieces[1:] {
		out = append(out, '$')
		out = strconv.AppendInt(out, int64(i+1), 10)
		out = append(out, piece...)
	}
	return out
}

// skipQuoted gives the length of the string, quoted name, dollar quote or
// comment that begins at i; 0 where none does. One that does not end reaches
// to the end of the query: the server will say so.
func skipQuoted(query string, i int) int {
	switch c := query[i]; {
	case c == '\'':
		escapes := i > 0 && (query[i-1] == 'e' || query[i-1] == 'E') && !inWord(query, i-1)
		return skipString(query[i:], escapes)
	case c == '"':
		return skipString(query[i:], false)
	case c == '$' && !inWord(query, i):
		return skipDollar(query[i:])
	case c == '-' && i+1 < len(query) && query[i+1] == '-':
		for n := 2; i+n < len(query); n++ {
			if query[i+n] == '\n' || query[i+n] == '\r' {
				return n
			}
		}
		return len(query) - i
	case c == '/' && i+1 < len(query) && query[i+1] == '*':
		return skipComment(query[i:])
	}
	return 0
}

// skipString takes a doubled quote for one inside, without looking: the second
// then begins a string that follows at once.
func skipString(s string, escapes bool) int {
	for n := 1; n < len(s); n++ {
		switch {
		case escapes && s[n] == '\\':
			n++
		case s[n] != s[0]:
		case escapes && n+1 < len(s) && s[n+1] == s[0]: // here what follows has escapes too
			n++
		default:
			return n + 1
		}
	}
	return len(s)
}

// skipDollar is for $$…$$ and $tag$…$tag$.
func skipDollar(s string) int {
	tag := 1
	for tag < len(s) && isWord(s[tag]) && s[tag] != '$' && (tag > 1 || !isDigit(s[tag])) {
		tag++
	}
	if tag >= len(s) || s[tag] != '$' {
		return 0
	}
	tag++
	for n := tag; n+tag <= len(s); n++ {
		if s[n:n+tag] == s[:tag] {
			return n + tag
		}
	}
	return len(s)
}

// skipComment is for /* … */, which nest.
func skipComment(s string) int {
	depth := 0
	for n := 0; n+1 < len(s); n++ {
		switch {
		case s[n] == '/' && s[n+1] == '*':
			depth++
			n++
		case s[n] == '*' && s[n+1] == '/':
			n++
			if depth--; depth == 0 {
				return n + 1
			}
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord tells the bytes of names, keywords and numbers.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}

// inWord reports whether the byte before i belongs to a word.
func inWord(query string, i int) bool { return i > 0 && isWord(query[i-1]) }
