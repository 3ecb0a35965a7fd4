package edit

import (
	"fmt"
	"path"
	"strings"
)

// mount is the form of fstab(5) in which a key is a mount point and its value all six fields of its
// line. A line is added where none is for the mount point.
func mount() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				f := l.fields()
				if len(f) < 3 || strings.HasPrefix(f[0].text, "#") {
					continue
				}
				f = f[:min(len(f), 6)]
				words := make([]string, len(f))
				for i, w := range f {
					words[i] = w.text
				}
				last := f[len(f)-1]
				all = append(all, assignment{key: path.Clean(Unoctal(f[1].text)), value: strings.Join(words, " "), from: f[0].at, to: last.at + len(last.text), line: l.number})
			}
			return all, nil
		},
		same: path.Clean,
		raw: func(value string) (string, error) {
			if f := strings.Fields(value); len(f) != 6 || strings.Join(f, " ") != value || strings.ContainsAny(value, "#\\") {
				return "", fmt.Errorf("%q is not a line of six fields separated by blanks", value)
			}
			return value, nil
		},
		insert: func(text []byte, _, raw string) ([]byte, error) { return appended(text, raw), nil },
	}
}
