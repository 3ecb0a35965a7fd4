package mysql

import (
	"bytes"
	"strings"

	"plumb/internal/edit"
)

// line is one meaningful line of an option file: an option in a group, or
// something to include.
type line struct {
	group   string // as written, without brackets
	name    string // as written, without leading dashes
	value   string
	bare    bool // there was no "=": the option alone
	include string
	dir     bool // include names a directory
	number  int  // 1-based
}

// maxOptionLine bounds one line as the server does (it reads 4096 bytes).
const maxOptionLine = 4096

// parseOptions reads an option file as the server reads it. bad is the line at
// which the server gives the file up, with the reason; 0 when there is none.
// What stands before that line counts.
//
// A byte order mark is one such reason: the server does not know it, so the
// first group header is text without a group.
func parseOptions(text []byte) (lines []line, bad int, why string) {
	lines, bad, why, _ = parseSome(text, maxOptions)
	return lines, bad, why
}

// maxOptions bounds the lines of one file.
const maxOptions = 20_000

// parseSome reads at most so many meaningful lines; more tells that there are
// others.
func parseSome(text []byte, most int) (lines []line, bad int, why string, more bool) {
	group := ""
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		s := string(bytes.TrimSpace(raw[:min(len(raw), maxOptionLine)]))
		if s == "" || s[0] == '#' || s[0] == ';' {
			continue
		}
		if len(lines) >= most {
			return lines, 0, "", true
		}
		if include, dir, ok := directive(s); ok {
			lines = append(lines, line{include: include, dir: dir, number: number})
			continue
		}
		if s[0] == '[' {
			end := strings.IndexByte(s, ']')
			if end < 0 {
				return lines, number, "group header without a closing bracket", false
			}
			group = strings.TrimSpace(s[1:end])
			continue
		}
		if group == "" {
			if strings.HasPrefix(s, "\xef\xbb\xbf") {
				return lines, number, "byte order mark: the server ignores the file from here", false
			}
			return lines, number, "option before the first group: the server ignores the file from here", false
		}
		lines = append(lines, option(s, group, number))
	}
	return lines, 0, "", false
}

// maxGroups bounds the groups of one file that are told apart.
const maxGroups = 100

// groupsOf gives the groups that an option file has, also those that are empty.
func groupsOf(text []byte) []string {
	var all []string
	for raw := range bytes.Lines(text) {
		s := string(bytes.TrimSpace(raw[:min(len(raw), maxOptionLine)]))
		if end := strings.IndexByte(s, ']'); end > 0 && s[0] == '[' && len(all) < maxGroups {
			all = append(all, strings.TrimSpace(s[1:end]))
		}
	}
	return all
}

func directive(s string) (path string, dir, ok bool) {
	if s[0] != '!' {
		return "", false, false
	}
	word, rest, _ := strings.Cut(s[1:], " ")
	if i := strings.IndexByte(word, '\t'); i >= 0 {
		word, rest = word[:i], word[i+1:]+" "+rest
	}
	rest = strings.TrimSpace(rest)
	switch word {
	case "include":
		return rest, false, true
	case "includedir":
		return rest, true, true
	}
	return "", false, true // an unknown directive is passed over
}

func option(s, group string, number int) line {
	s = edit.Uncomment(s)
	name, value, valued := strings.Cut(s, "=")
	l := line{group: group, name: strings.TrimLeft(strings.TrimSpace(name), "-"), number: number, bare: !valued}
	if valued {
		l.value = edit.Unquote(strings.TrimSpace(value))
	}
	return l
}
