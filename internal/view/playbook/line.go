package playbook

import (
	"fmt"
	"regexp"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
)

// lineEdit says how one value is set in a file of lines by tools that know
// only regular expressions: awk and lineinfile. The expressions are written in
// what awk, Python and Go have in common.
type lineEdit struct {
	section string // the [section] that counts; "" for files without
	before  string // what stands before the value in its line, from its beginning
	value   string // the value
	raw     string // the value wanted, as it stands in the file
	line    string // the line that is added where none sets it; "": none may be added
}

// Pieces of regular expressions.
const (
	anyBlank  = `[ \t]*`
	someBlank = `[ \t]+`
	oneWord   = `[^ \t]+`
	toTheEnd  = `([^ \t\r]+([ \t]+[^ \t\r]+)*)?`
)

// lineEditOf finds the expressions for an edit. What is written is what
// package edit writes into an empty file.
func lineEditOf(e *change.Edit) (lineEdit, error) {
	l := lineEdit{value: toTheEnd}
	switch e.Form {
	case edit.Sysctl:
		l.before = "^" + anyBlank + "-?" + anyBlank + separators(e.Key) + anyBlank + "=" + anyBlank
	case edit.OptionFile:
		var name string
		l.section, name, _ = strings.Cut(e.Key, "/")
		l.before = "^" + anyBlank + "(loose[-_])?" + dashes(name) + anyBlank + "=" + anyBlank
		l.value = `("[^"]*"|'[^']*'|[^#"' \t\r]*([ \t]+[^# \t\r]+)*)`
	case edit.Unit:
		var name string
		l.section, name, _ = strings.Cut(e.Key, "/")
		l.before = "^" + anyBlank + literal(name) + anyBlank + "=" + anyBlank
	case edit.Postgresql:
		l.before = "^" + anyBlank + anyCase(e.Key) + "(" + anyBlank + "=" + anyBlank + "|" + someBlank + ")"
		l.value = `('([^']|'')*'|[^'#= \t\r][^# \t\r]*)`
	case edit.Modprobe:
		module, name, _ := strings.Cut(e.Key, "/")
		l.before = "^" + anyBlank + "options" + someBlank + literal(module) + someBlank + `([^#]*[ \t])?` + literal(name) + "="
		l.value = `[^ \t\r]*`
	case edit.Tmpfiles:
		l.before = "^" + anyBlank + "w[-!=~^$+]*" + someBlank + literal(e.Key) + strings.Repeat(someBlank+oneWord, 4) + someBlank
	case edit.Limits:
		l.before = "^" + anyBlank
		for part := range strings.SplitSeq(e.Key, "/") {
			l.before += literal(part) + someBlank
		}
		l.value = `[^ \t\r]+`
	case edit.Udev:
		at := strings.LastIndexByte(e.Key, ' ')
		if at < 0 {
			return l, fmt.Errorf("%q is no key of udev", e.Key)
		}
		l.before = "^" + anyBlank + strings.ReplaceAll(literal(e.Key[:at]), ", ", `[, \t]+`) + `[, \t]+(.*[, \t])?` + literal(e.Key[at+1:]) + anyBlank + "=" + anyBlank
		l.value = `"[^"]*"`
	case edit.Fstab:
		l.before = "^" + anyBlank + `[^# \t][^ \t]*` + someBlank + literal(fstabWord(e.Key)) + someBlank + oneWord + someBlank
		l.value, l.raw = `[^ \t\r]+`, fstabWord(e.Value)
		return l, nil
	default:
		return l, fmt.Errorf("%s is not edited by lines", e.Form)
	}
	return l, l.written(e)
}

// written fills in the line and the value as they stand in the file.
func (l *lineEdit) written(e *change.Edit) error {
	text, err := edit.Set(e.Form, nil, e.Key, e.Value)
	if err != nil {
		return err
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	l.line = all[len(all)-1]
	re, err := regexp.Compile(l.before)
	if err != nil {
		return err
	}
	at := re.FindStringIndex(l.line)
	if at == nil {
		return fmt.Errorf("%q is not understood again", l.line)
	}
	l.raw = l.line[at[1]:]
	return nil
}

// yamlRaw gives a value as it stands in a YAML file.
func yamlRaw(e *change.Edit) (string, error) {
	text, err := edit.Set(e.Form, nil, e.Key, e.Value)
	if err != nil {
		return "", err
	}
	_, raw, _ := strings.Cut(strings.TrimRight(string(text[strings.LastIndexByte(strings.TrimRight(string(text), "\n"), '\n')+1:]), "\n"), ": ")
	return raw, nil
}

// literal makes an expression for a text. A sign in brackets means itself to
// every tool.
func literal(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune(`.*+?()[{}|$`, r):
			b.WriteString("[" + string(r) + "]")
		case r == ']' || r == '^':
			b.WriteString(`\` + string(r))
		case r == '\\':
			b.WriteString(".") // tools do not agree how it is written
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// separators takes a dot of a sysctl for a slash as well.
func separators(name string) string { return strings.ReplaceAll(literal(name), "[.]", "[./]") }

// dashes takes dashes and underscores for the same.
func dashes(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(literal(name), "_", "-"), "-", "[-_]")
}

// anyCase takes letters for the same as their capitals.
func anyCase(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' {
			b.WriteString("[" + string(r) + strings.ToUpper(string(r)) + "]")
			continue
		}
		b.WriteString(literal(string(r)))
	}
	return b.String()
}

// fstabWord escapes what would end a field of fstab(5).
func fstabWord(s string) string {
	return strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(s)
}
