package edit

import (
	"errors"
	"strings"
)

// limits is the form of limits.conf(5). A key is domain/type/item. pam_limits
// cuts a line at #, and takes capitals in all but the domain for small letters.
func limits() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				l.text, _, _ = strings.Cut(l.text, "#")
				f := l.fields()
				if len(f) < 4 {
					continue
				}
				all = append(all, assignment{key: limitKey(f[0].text + "/" + f[1].text + "/" + f[2].text), value: f[3].text,
					from: f[3].at, to: f[3].at + len(f[3].text), line: l.number})
			}
			return all, nil
		},
		same: limitKey,
		raw:  bare,
		insert: func(text []byte, key, raw string) ([]byte, error) {
			parts := strings.Split(key, "/")
			if len(parts) != 3 || strings.ContainsAny(key, " \t\r\n\v\f#") || parts[0] == "" || parts[1] == "" || parts[2] == "" {
				return nil, errors.New("want domain/type/item")
			}
			return appended(text, strings.Join(parts, " ")+" "+raw), nil
		},
	}
}

func limitKey(key string) string {
	domain, rest, _ := strings.Cut(key, "/")
	return domain + "/" + strings.ToLower(rest)
}
