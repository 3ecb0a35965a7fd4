package edit

import "strings"

// sysctl is the form of sysctl.d(5): name = value, and -name = value for one
// whose failure does not count. Names are written with dots or slashes.
func sysctl() grammar {
	return grammar{
		scan: func(text []byte) ([]assignment, error) {
			var all []assignment
			for l := range lines(text) {
				if a, ok := sysctlLine(l); ok {
					all = append(all, a)
				}
			}
			return all, nil
		},
		same: SysctlName,
		raw:  oneLine,
		insert: func(text []byte, key, raw string) ([]byte, error) {
			return appended(text, key+" = "+raw), nil
		},
	}
}

func sysctlLine(l line) (assignment, bool) {
	text, at := l.trimmed()
	if text == "" || text[0] == '#' || text[0] == ';' {
		return assignment{}, false
	}
	name, value, ok := strings.Cut(text, "=")
	trimmed := trim(value)
	name = SysctlName(trim(strings.TrimPrefix(name, "-")))
	if !ok || trimmed == "" || name == "" || strings.ContainsAny(name, "*?[") {
		return assignment{}, false
	}
	from := at + len(text) - len(strings.TrimLeft(value, blanks))
	return assignment{key: name, value: trimmed, from: from, to: from + len(trimmed), line: l.number}, true
}

// SysctlName writes a name with dots. The first separator tells how it is written;
// in a name with slashes a dot stands for itself and becomes a slash.
func SysctlName(name string) string {
	i := strings.IndexAny(name, "./")
	if i < 0 || name[i] == '.' {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '/':
			return '.'
		case '.':
			return '/'
		}
		return r
	}, name)
}
