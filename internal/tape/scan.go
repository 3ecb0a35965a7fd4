package tape

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// A tape is some megabytes of strings, and encoding/json reads them at 50 MB
// a second. scanEntry reads the form Write writes several times as fast and
// leaves everything else to encoding/json, so both understand the same.

// scanEntry reads a line as Write writes it. It reports false for any other
// form, right or wrong.
func scanEntry(line []byte) (e Entry, ok bool) {
	if !utf8.Valid(line) {
		return e, false
	}
	s := scanner{rest: bytes.TrimSuffix(line, []byte("\n"))}
	if !s.take(`{"op":`) {
		return e, false
	}
	e.Op, ok = s.str()
	if !ok || e.Op == "" || !s.take(`,"of":[`) {
		return e, false
	}
	for begin := len(s.rest); !s.take(`]`); {
		if len(e.Of) > 0 && !s.take(`,`) || begin-len(s.rest) > MaxOf {
			return e, false
		}
		arg, ok := s.str()
		if !ok {
			return e, false
		}
		e.Of = append(e.Of, Text(arg))
	}
	if s.take(`,"text":`) {
		text, ok := s.str()
		if !ok {
			return e, false
		}
		e.Text = (*Text)(&text)
	}
	if s.take(`,"value":`) {
		if e.Value, ok = s.value(); !ok {
			return e, false
		}
	}
	if s.take(`,"error":`) {
		if e.Error, ok = s.str(); !ok {
			return e, false
		}
	}
	if s.take(`,"says":`) {
		if e.Says, ok = s.str(); !ok {
			return e, false
		}
	}
	return e, s.take(`}`) && len(s.rest) == 0 && len(e.Of) > 0
}

type scanner struct{ rest []byte }

// take goes past a prefix, if it is there.
func (s *scanner) take(prefix string) bool {
	if len(s.rest) < len(prefix) || string(s.rest[:len(prefix)]) != prefix {
		return false
	}
	s.rest = s.rest[len(prefix):]
	return true
}

// str reads a string.
func (s *scanner) str() (string, bool) {
	if !s.take(`"`) {
		return "", false
	}
	end, escaped := stringEnd(s.rest)
	if end < 0 {
		return "", false
	}
	inside := s.rest[:end]
	s.rest = s.rest[end+1:]
	if !escaped {
		return string(inside), true
	}
	return unescape(inside)
}

// stringEnd finds the closing quote. It gives -1 if there is none or if a
// control character stands inside, which JSON forbids.
func stringEnd(b []byte) (end int, escaped bool) {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i, escaped
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return -1, false
		}
	}
	return -1, false
}

// unescape translates the escapes Write makes. It reports false for the rest,
// such as surrogate pairs.
func unescape(b []byte) (string, bool) {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			out = append(out, b...)
			break
		}
		out = append(out, b[:i]...)
		b = b[i+1:]
		if len(b) == 0 {
			return "", false
		}
		c := b[0]
		b = b[1:]
		switch c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case '"', '\\', '/':
			out = append(out, c)
		case 'u':
			if len(b) < 4 {
				return "", false
			}
			code, err := strconv.ParseUint(string(b[:4]), 16, 16)
			if err != nil || (code >= 0xd800 && code < 0xe000) {
				return "", false
			}
			out = utf8.AppendRune(out, rune(code))
			b = b[4:]
		default:
			return "", false
		}
	}
	return string(out), true
}

// value reads a JSON value of any kind as it stands.
func (s *scanner) value() (json.RawMessage, bool) {
	depth := 0
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			end, _ := stringEnd(s.rest[i+1:])
			if end < 0 {
				return nil, false
			}
			i += end + 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				return s.cut(i)
			}
		}
		if depth < 0 {
			return s.cut(i)
		}
	}
	return nil, false
}

func (s *scanner) cut(i int) (json.RawMessage, bool) {
	value := bytes.Clone(s.rest[:i])
	s.rest = s.rest[i:]
	return value, json.Valid(value)
}
