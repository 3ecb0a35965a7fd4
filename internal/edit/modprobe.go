package edit

import (
	"errors"
	"fmt"
	"strings"
)

// modprobe is the form of modprobe.d(5): options MODULE name=value ... A key
// is module/parameter, with - and _ the same. A backslash at the end continues
// a line.
func modprobe() grammar {
	return grammar{
		scan: scanModprobe,
		same: optionName,
		raw:  bare,
		insert: func(text []byte, key, raw string) ([]byte, error) {
			module, name, ok := strings.Cut(key, "/")
			if !ok || module == "" || name == "" || strings.ContainsAny(key, " \t\r\n\v\f#=\\\"") {
				return nil, errors.New("want module/parameter")
			}
			return appended(text, "options "+module+" "+name+"="+raw), nil
		},
	}
}

func scanModprobe(text []byte) ([]assignment, error) {
	var all []assignment
	var words []word
	begin, glued := 0, false
	for l := range lines(text) {
		if begin == 0 {
			begin = l.number
		}
		if glued && l.text != "" && strings.IndexByte(blanks, l.text[0]) < 0 {
			return nil, fmt.Errorf("line %d: it continues in the middle of a word", l.number-1)
		}
		body, more := strings.CutSuffix(strings.TrimRight(l.text, " \t\r"), `\`)
		if more {
			l.text = body
		}
		words = append(words, l.fields()...)
		glued = more && body != "" && strings.IndexByte(blanks, body[len(body)-1]) < 0
		if !more {
			all = append(all, moduleOptions(words, begin)...)
			words, begin = nil, 0
		}
	}
	if begin > 0 {
		return nil, fmt.Errorf("line %d: it continues, and nothing follows", begin)
	}
	return all, nil
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
			all = append(all, assignment{key: optionName(words[1].text + "/" + name), value: strings.Trim(value, `"`),
				from: w.at + len(name) + 1, to: w.at + len(w.text), line: number})
		}
	}
	return all
}
