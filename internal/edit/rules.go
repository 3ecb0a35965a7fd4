package edit

import (
	"errors"
	"strings"
)

// rules is the form of files in which each line is a rule that begins with what it is about:
// the local part of a profile of AppArmor, or a list of apt's sources. A key is a
// line's first word, the value the rest.
func rules() grammar {
	return grammar{
		scan: scanRules,
		raw: func(value string) (string, error) {
			if strings.Contains(value, "#") {
				return "", errBlank
			}
			return oneLine(value)
		},
		insert: func(text []byte, key, raw string) ([]byte, error) {
			if _, err := bare(key); err != nil {
				return nil, errors.New("want the first word of a rule")
			}
			return appended(text, key+" "+raw), nil
		},
	}
}

func scanRules(text []byte) ([]assignment, error) {
	var all []assignment
	for l := range lines(text) {
		words := l.fields()
		if len(words) < 2 || words[0].text[0] == '#' {
			continue
		}
		s, at := l.trimmed()
		all = append(all, assignment{key: words[0].text, value: l.text[words[1].at-l.at : at-l.at+len(s)], from: words[1].at, to: at + len(s), line: l.number})
	}
	return all, nil
}
