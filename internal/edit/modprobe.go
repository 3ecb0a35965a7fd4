package edit

import (
	"errors"
	"strings"
)

// modprobe is the form of modprobe.d(5): options MODULE name=value ... A key
// is module/parameter. A backslash at the end continues a line.
func modprobe() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			var words []word
			for l := range lines(text) {
				more := strings.HasSuffix(strings.TrimRight(l.text, " \t\r"), `\`)
				for _, w := range l.fields() {
					if more && w.at+len(w.text) == l.at+len(strings.TrimRight(l.text, " \t\r")) {
						w.text = strings.TrimSuffix(w.text, `\`)
					}
					if w.text != "" {
						words = append(words, w)
					}
				}
				if !more {
					all = append(all, moduleOptions(words, l.number)...)
					words = nil
				}
			}
			return append(all, moduleOptions(words, 0)...), nil
		},
		raw: bare,
		insert: func(text []byte, key, raw string) ([]byte, error) {
			module, name, ok := strings.Cut(key, "/")
			if !ok || module == "" || name == "" || strings.ContainsAny(key, " \t\r\n\v\f#=\\\"") {
				return nil, errors.New("want module/parameter")
			}
			return appended(text, "options "+module+" "+name+"="+raw), nil
		},
	}
}

func moduleOptions(words []word, number int) []assignment {
	if len(words) < 3 || words[0].text != "options" {
		return nil
	}
	var all []assignment
	for _, w := range words[2:] {
		if strings.HasPrefix(w.text, "#") {
			break
		}
		name, value, ok := strings.Cut(w.text, "=")
		if ok {
			all = append(all, assignment{key: words[1].text + "/" + name, value: strings.Trim(value, `"`),
				from: w.at + len(name) + 1, to: w.at + len(w.text), line: number})
		}
	}
	return all
}
