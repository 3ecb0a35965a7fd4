package edit

import (
	"errors"
	"strings"
)

// tmpfiles is the form of tmpfiles.d(5). Only lines that write to a file (w)
// count; a key is the path.
func tmpfiles() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				f := l.fields()
				if len(f) < 7 || strings.TrimRight(f[0].text, "!-=~^$+") != "w" {
					continue
				}
				s, at := l.trimmed()
				from := f[6].at
				all = append(all, assignment{key: f[1].text, value: s[from-at:], from: from, to: at + len(s), line: l.number})
			}
			return all, nil
		},
		raw: func(value string) (string, error) {
			if strings.ContainsAny(value, "%\\\"'") { // specifiers and escapes
				return "", errBlank
			}
			return oneLine(value)
		},
		insert: func(text []byte, key, raw string) ([]byte, error) {
			if !strings.HasPrefix(key, "/") || strings.ContainsAny(key, " \t\r\n\v\f%\\\"'") {
				return nil, errors.New("want a path without blanks")
			}
			return appended(text, "w "+key+" - - - - "+raw), nil
		},
	}
}
