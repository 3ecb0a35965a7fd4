package edit

import (
	"fmt"
	"regexp"
	"strings"
)

// postgresql is the form of postgresql.conf: name = value, with the equals
// sign left out at will, and values bare or in single quotes.
func postgresql() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				s, at := l.trimmed()
				if s == "" || s[0] == '#' {
					continue
				}
				a, ok := postgresLine(s, at)
				if !ok {
					return nil, fmt.Errorf("line %d: not a setting: the server does not start with it", l.number)
				}
				a.line = l.number
				all = append(all, a)
			}
			return all, nil
		},
		same: strings.ToLower,
		raw:  postgresRaw,
		insert: func(text []byte, key, raw string) ([]byte, error) {
			return appended(text, key+" = "+raw), nil
		},
	}
}

func postgresLine(s string, at int) (assignment, bool) {
	end := 0
	for end < len(s) && (s[end] == '_' || s[end] == '.' || s[end] == '$' || s[end] >= 0x80 || alnum(s[end])) {
		end++
	}
	rest := trim(s[end:])
	if r, ok := strings.CutPrefix(rest, "="); ok {
		rest = trim(r)
	}
	value, length, ok := postgresValue(rest)
	after := trim(rest[length:])
	ok = ok && (after == "" || after[0] == '#')
	from := at + len(s) - len(rest)
	return assignment{key: strings.ToLower(s[:end]), value: value, from: from, to: from + length}, ok && end > 0
}

// PostgresqlLine reads one line. The name of an empty one and of a comment is
// empty; with one that is not ok the server does not start.
func PostgresqlLine(line string) (name, value string, ok bool) {
	s := trim(strings.TrimSuffix(line, "\n"))
	if s == "" || s[0] == '#' {
		return "", "", true
	}
	a, ok := postgresLine(s, 0)
	return a.key, a.value, ok
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// postgresValue reads the value at the beginning of a text, bare or in single
// quotes, and tells how many bytes it takes.
func postgresValue(s string) (value string, length int, ok bool) {
	if !strings.HasPrefix(s, "'") {
		length = len(s)
		if i := strings.IndexAny(s, "# \t"); i >= 0 {
			length = i
		}
		return s[:length], length, length > 0
	}
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			out.WriteByte(postgresEscape(s[i]))
		case s[i] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
			out.WriteByte('\'')
		case s[i] == '\'':
			return out.String(), i + 1, true
		default:
			out.WriteByte(s[i])
		}
	}
	return "", 0, false
}

func postgresEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// postgresRaw leaves numbers with a unit and plain words bare and quotes
// everything else.
func postgresRaw(value string) (string, error) {
	if regexp.MustCompile(`^(-?[0-9]+(B|kB|MB|GB|TB|us|ms|s|min|h|d)?|[A-Za-z_][A-Za-z0-9_]*)$`).MatchString(value) {
		return value, nil
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`, "\f", `\f`).Replace(value) + "'", nil
}
