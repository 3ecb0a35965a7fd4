package redact

import (
	"strings"
)

// text redacts a text of several lines.
func text(s string, f form) string {
	if !mayHold(s) {
		return s
	}
	s = statements(s)
	lines := &lineReader{form: f, below: -1}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.Lines(s) {
		body, end := cutEnd(line)
		b.WriteString(lines.redact(body))
		b.WriteString(end)
	}
	return b.String()
}

// lineReader redacts line by line and knows when a secret goes on in the next.
type lineReader struct {
	form  form
	below int  // lines indented deeper than this belong to a secret; -1 for none
	next  bool // the value stands in the next line, however indented
	carry bool // a secret was continued with a backslash
	pem   bool // inside a private key
}

func (l *lineReader) redact(body string) string {
	space := body[:len(body)-len(strings.TrimLeft(body, " \t"))]
	if body == "" {
		return body
	}
	switch {
	case l.pem:
		if l.pem = !strings.Contains(body, "-----END"); l.pem {
			return space + Mark
		}
		return body
	case strings.Contains(body, "-----BEGIN") && strings.Contains(body, "PRIVATE KEY"):
		l.pem = !strings.Contains(body, "-----END")
		if i := strings.Index(body, "PRIVATE KEY-----"); i >= 0 && i+len("PRIVATE KEY-----") < len(body) {
			return body[:i+len("PRIVATE KEY-----")] + Mark
		}
		return body
	case l.carry:
		l.carry = strings.HasSuffix(body, `\`)
		return space + Mark
	case l.below >= 0 && len(space) > l.below:
		return space + Mark
	case l.next && strings.ContainsAny(body[len(space):len(space)+1], `"'`):
		l.next, l.below = false, -1
		return space + Mark
	}
	l.below, l.next = -1, false
	line := &lineScanner{s: redactDSNs(redactLinks(redactAddresses(redactWords(body)))), form: l.form}
	line.scan()
	l.carry = line.rest && strings.HasSuffix(body, `\`)
	if line.open {
		l.below = len(space)
		l.next = line.empty
	}
	return line.out.String()
}

// lineScanner looks for "key = value" in one line.
type lineScanner struct {
	s    string
	form form
	out  strings.Builder

	rest  bool // the rest of the line was redacted
	open  bool // the value can go on in deeper lines
	empty bool // the value is not in this line
}

// scan copies the line with the values of secret keys replaced.
func (l *lineScanner) scan() {
	done := 0
	for i := 0; i < len(l.s); {
		if !isKeyByte(l.s[i]) {
			i++
			continue
		}
		end := i
		for end < len(l.s) && isKeyByte(l.s[end]) {
			end++
		}
		if secretKey(l.s[i:end]) {
			if from, ok := l.valueAt(i, end); ok {
				from, to := l.value(i, from)
				l.out.WriteString(l.s[done:from])
				if to > from {
					l.out.WriteString(Mark)
				}
				done, end = to, max(to, end)
			}
		}
		i = end
	}
	l.out.WriteString(l.s[done:])
}

func isKeyByte(c byte) bool {
	return c == '_' || c == '.' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// valueAt finds where the value of the key s[i:end] begins. It reports false
// if the word is no key.
func (l *lineScanner) valueAt(i, end int) (from int, ok bool) {
	s := l.s
	flag := s[i] == '-'
	at := end
	if i > 0 && at < len(s) && isQuote(s[i-1]) && s[at] == s[i-1] {
		at++ // "key": value
	}
	spaced := skipSpace(s, at)
	if spaced == len(s) {
		return 0, false
	}
	switch c := s[spaced]; {
	case c == '=':
		from = spaced + 1
		if from < len(s) && s[from] == '>' {
			from++
		}
	case c == ':':
		// "using password: YES" is MySQL's own; "/etc/password: no such file".
		if (i > 0 && s[i-1] == '/') || strings.HasSuffix(strings.ToLower(s[:i]), "using ") {
			return 0, false
		}
		from = spaced + 1
		if from < len(s) && s[from] == '=' {
			from++
		}
	case flag && c == ',' && spaced+1 < len(s): // ["--password", "x"]
		from = spaced + 1
	case flag && spaced > at && c != '-': // --password x
		from = spaced
	case l.form != plain && spaced > at && strings.TrimLeft(s[:i], " \t") == "" && at == end:
		from = spaced // PostgreSQL takes: name 'value'
	default:
		return 0, false
	}
	return skipSpace(s, from), true
}

// value finds what to replace of the value that begins at from.
func (l *lineScanner) value(key, from int) (int, int) {
	s := l.s
	if from >= len(s) {
		l.open, l.empty = true, true
		return from, from
	}
	// A command that prints a secret may hold it anywhere.
	if (l.form == option && l.first(key)) || (strings.Contains(s[key:from], "command") && !isQuote(s[from])) {
		return from, l.toEnd()
	}
	before := strings.TrimRight(s[:key], "-")
	if before != "" && isQuote(before[len(before)-1]) && !strings.ContainsRune(s[key:from], rune(before[len(before)-1])) {
		// "key=value" in one pair of quotes
		if end, ok := quoteEnd(s, from, before[len(before)-1]); ok {
			return from, end
		}
		return from, l.toEnd()
	}
	if isQuote(s[from]) {
		return l.quoted(key, from)
	}
	return from, l.valueEnd(key, from)
}

// valueEnd finds the end of a value without quotes around it.
func (l *lineScanner) valueEnd(key, from int) int {
	s := l.s
	switch c := s[from]; {
	case c == '{' && strings.Contains(s[key:from], ":"): // look inside
		return from
	case c == '|' || c == '>':
		l.open = true
		return l.toEnd()
	case c == '[' || c == '\\' || c == '$' || (l.first(key) && l.form != plain):
		if l.form != plain {
			l.open = true // YAML folds plain text
		}
		return l.toEnd()
	}
	return l.word(key, from)
}

func (l *lineScanner) toEnd() int {
	l.rest = true
	return len(l.s)
}

// first reports whether the key stands first in its line.
func (l *lineScanner) first(key int) bool {
	before := strings.TrimLeft(l.s[:key], " \t#;-'\"")
	return before == "" || before == "export " || before == "set "
}

// quoted finds what to replace of a value in quotes: what is inside them, or
// everything where they are not closed as they should be.
func (l *lineScanner) quoted(key, from int) (int, int) {
	s, quote := l.s, l.s[from]
	if from+1 < len(s) && s[from+1] == quote { // empty, or doubled inside other quotes
		doubled := s[from : from+2]
		i := strings.Index(s[from+2:], doubled)
		empty := from+2 >= len(s) || strings.IndexByte(" \t,;)}]#&", s[from+2]) >= 0
		switch {
		case empty && (i < 0 || quote != '\''):
			return from, from
		case i > 0 && plainDoubled(s[from+2:], i): // PostgreSQL's files double the quotes of a conninfo
			return from + 2, from + 2 + i
		}
		return from, l.toEnd()
	}
	end := from
	for {
		next, ok := quoteEnd(s, end+1, quote)
		if !ok {
			l.open = true
			return from, l.toEnd()
		}
		end = next + 1
		again := skipSpace(s, end)
		if again < len(s) && s[again] == quote && again > end { // "a" "b" is one string in ProxySQL's file
			end = again
			continue
		}
		break
	}
	after := s[end:]
	if after != "" && strings.IndexByte(" \t,;)}]#&'\"`", after[0]) < 0 {
		return from, l.toEnd()
	}
	if strings.Count(after, string(quote))%2 == 1 && l.first(key) {
		return from, l.toEnd()
	}
	return from + 1, end - 1
}

// plainDoubled reports whether a value between doubled quotes, the closing
// ones at i, surely ends there.
func plainDoubled(s string, i int) bool {
	after := s[i+2:]
	return !strings.ContainsAny(s[:i], `'"\\`) && (after == "" || after == "'" || strings.HasPrefix(after, " ") || strings.HasPrefix(after, "' "))
}

// word finds the end of a value without quotes.
func (l *lineScanner) word(key, from int) int {
	s := l.s
	stops := " \t"
	if key > 0 && (s[key-1] == '?' || s[key-1] == '&') {
		stops += `&"'#`
	}
	end := len(s)
	if i := strings.IndexAny(s[from:], stops); i >= 0 {
		end = from + i
	}
	if strings.ContainsAny(s[from:end], "\\`$") {
		return l.toEnd()
	}
	trimmed := from + len(strings.TrimRight(s[from:end], `,;)}]'"`))
	for _, quote := range []string{`'`, `"`} {
		inside := strings.Count(s[from:end], quote)
		open := strings.Count(s[:from], quote)%2 == 1
		if inside > 0 && !(inside == 1 && open && strings.Contains(s[trimmed:end], quote)) {
			return l.toEnd() // sec"ret word": the shell joins them
		}
	}
	return trimmed
}

// quoteEnd finds the closing quote from i on, past \x and doubled quotes.
func quoteEnd(s string, i int, quote byte) (int, bool) {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i, true
		}
	}
	return 0, false
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}
