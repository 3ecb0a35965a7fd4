package edit

import (
	"errors"
	"fmt"
	"strings"
)

// unit is the form of systemd's unit files (systemd.syntax(7)). A key is
// section/name.
func unit() grammar {
	return grammar{
		scan: scanUnit,
		raw: func(value string) (string, error) {
			if strings.HasSuffix(value, `\`) {
				return "", errBlank
			}
			return oneLine(value)
		},
		insert: func(text []byte, key, raw string) ([]byte, error) {
			section, name, ok := strings.Cut(key, "/")
			if !ok || section == "" || name == "" || strings.ContainsAny(key, " \t\r\n\v\f[]=#;\\") {
				return nil, errors.New("want section/name")
			}
			return insertIntoSection(text, section, name+"="+raw), nil
		},
	}
}

// scanUnit reads a unit. A value that goes on over several lines, with
// comments between them, is not edited.
func scanUnit(text []byte) ([]assignment, error) {
	var all []assignment
	section, goesOn := "", false
	for l := range lines(text) {
		s, at := l.trimmed()
		if s != "" && (s[0] == '#' || s[0] == ';') {
			continue
		}
		inside := goesOn
		goesOn = strings.HasSuffix(s, `\`)
		switch {
		case inside:
			if i := len(all) - 1; i >= 0 {
				all[i].value, all[i].from = strings.TrimSuffix(all[i].value, `\`)+" "+s, -1
			}
			continue
		case s == "":
			continue
		case s[0] == '[':
			name, _, ok := strings.Cut(s[1:], "]")
			if !ok {
				return nil, fmt.Errorf("line %d: a section header without a closing bracket", l.number)
			}
			section = trim(name)
			continue
		}
		name, value, ok := strings.Cut(s, "=")
		if !ok || section == "" {
			if goesOn {
				return nil, fmt.Errorf("line %d: it continues on the next line, and sets nothing", l.number)
			}
			continue // systemd passes it over with a warning
		}
		from := at + len(s) - len(strings.TrimLeft(value, blanks))
		all = append(all, assignment{key: section + "/" + trim(name), value: trim(value), from: from, to: at + len(s), line: l.number})
	}
	return all, nil
}
