package edit

import (
	"errors"
	"fmt"
	"strings"
)

// maxOptionLine is how much of a line the server reads, in bytes.
const maxOptionLine = 4096

// optionFile is the form of MySQL's and MariaDB's option files. A key is
// group/option; dashes and underscores are the same in an option's name.
func optionFile() grammar {
	return grammar{
		scan: scanOptions,
		same: func(key string) string {
			group, name, ok := strings.Cut(key, "/")
			if !ok {
				return key
			}
			return group + "/" + optionName(name)
		},
		raw:    optionRaw,
		insert: insertOption,
	}
}

func optionName(name string) string { return strings.ReplaceAll(name, "-", "_") }

func scanOptions(text []byte) ([]assignment, error) {
	var all []assignment
	group, inGroup := "", false
	for l := range lines(text) {
		s, at := l.trimmed()
		switch {
		case len(l.text) >= maxOptionLine: // of a comment too, the server takes the rest for a line of its own
			return nil, fmt.Errorf("line %d: longer than the %d bytes that the server reads", l.number, maxOptionLine)
		case s == "" || s[0] == '#' || s[0] == ';' || s[0] == '!':
			continue
		case s[0] == '[':
			name, _, ok := strings.Cut(s[1:], "]")
			if !ok {
				return nil, fmt.Errorf("line %d: a group header without a closing bracket", l.number)
			}
			group, inGroup = trim(name), true
			continue
		case !inGroup:
			return nil, fmt.Errorf("line %d: an option before the first group: the server ignores the file from here", l.number)
		}
		all = append(all, optionLine(s, at, group, l.number))
	}
	return all, nil
}

// optionLine reads one option. One that stands alone, perhaps negated by its
// prefix, is written anew as name=value when it is set.
func optionLine(s string, at int, group string, number int) assignment {
	s = Uncomment(s)
	name, value, valued := strings.Cut(s, "=")
	name = trim(name)
	full := optionName(strings.TrimLeft(name, "-"))
	plain, loose := strings.CutPrefix(full, "loose_")
	a := assignment{key: group + "/" + plain, value: Unquote(trim(value)), line: number}
	if valued {
		a.from = at + len(s) - len(strings.TrimLeft(value, blanks))
		a.to = at + len(s)
		return a
	}
	a.from, a.to, a.value = at, at+len(s), "ON"
	// skip_name_resolve and its like are variables of that very name; of the
	// others with skip_ it is enough that setting them by name later wins.
	for prefix, means := range map[string]string{"disable_": "OFF", "enable_": "ON"} {
		if rest, ok := strings.CutPrefix(plain, prefix); ok {
			plain, a.key, a.value = rest, group+"/"+rest, means
			break
		}
	}
	if loose { // so that a server that does not know the option still starts
		plain = "loose_" + plain
	}
	a.write = func(raw string) string { return plain + " = " + raw }
	return a
}

// Uncomment drops a comment that begins inside a line of an option file. The
// server takes only # for that, and not inside quotes or after a backslash.
func Uncomment(s string) string {
	var quote byte
	escaped := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '#':
			return trim(s[:i])
		}
	}
	return s
}

// Unquote undoes the quotes and escapes of an option's value.
func Unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\b`, "\b", `\s`, " ", `\"`, `"`, `\'`, `'`).Replace(s)
}

// optionRaw quotes a value that the server would otherwise read differently.
func optionRaw(value string) (string, error) {
	if value != "" && !strings.ContainsAny(value, "#\"'\\\n\r\t\b") && trim(value) == value {
		return value, nil
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`).Replace(value) + `"`, nil
}

// insertOption adds an option after the last one of the last such group, or
// with a new group at the end.
func insertOption(text []byte, key, raw string) ([]byte, error) {
	group, name, ok := strings.Cut(key, "/")
	if !ok || group == "" || name == "" || strings.ContainsAny(key, "\r\n]=#\"'\\ \t\v\f") {
		return nil, errors.New("want group/option")
	}
	return insertIntoSection(text, group, name+" = "+raw), nil
}

// insertIntoSection adds a line after the last meaningful one of the last
// section of a name. Where there is none it makes one at the end.
func insertIntoSection(text []byte, section, add string) []byte {
	place, in := -1, false
	for l := range lines(text) {
		s, _ := l.trimmed()
		if strings.HasPrefix(s, "[") {
			name, _, _ := strings.Cut(s[1:], "]")
			in = trim(name) == section
		}
		if in && s != "" && s[0] != '#' && s[0] != ';' && s[0] != '!' {
			place = afterLine(text, l)
		}
	}
	if place >= 0 {
		return insertedAt(text, place, add)
	}
	head := "[" + section + "]\n"
	if len(text) > 0 && !strings.HasSuffix(string(text), "\n\n") && !strings.HasSuffix(string(text), "\n\r\n") {
		head = "\n" + head
	}
	return appended(text, head+add)
}
