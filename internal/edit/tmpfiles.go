package edit

import (
	"errors"
	"strings"
)

// tmpfiles is the form of tmpfiles.d(5). Only lines that write to a file (w)
// count; a key is the path. Of several lines for one path systemd heeds the
// first and logs the others as errors, but a w+ line is done beside them.
func tmpfiles() grammar {
	return grammar{
		first: true,
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				f := l.fields()
				if len(f) < 7 || strings.TrimRight(f[0].text, "!-=~^$+") != "w" {
					continue
				}
				s, at := l.trimmed()
				from := f[6].at
				a := assignment{key: f[1].text, value: s[from-at:], from: from, to: at + len(s), line: l.number}
				if strings.Contains(f[0].text, "+") {
					a.from = -1
				}
				all = append(all, a)
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
