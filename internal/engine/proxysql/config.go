package proxysql

import "strings"

// maxConfig bounds what is read of a configuration file, in bytes, and
// maxSettings what is kept of it.
const (
	maxConfig   = 1 << 20
	maxSettings = 10_000
)

// parseConfig reads the scalar settings of proxysql.cnf, which is in the form
// of libconfig: name = value, name = { … }. Settings in a group are named
// group.name. Lists of users and servers are passed over.
func parseConfig(text []byte) map[string]string {
	out := map[string]string{}
	s := string(text[:min(len(text), maxConfig)])
	var groups []string
	word, name := "", ""
	for i := 0; i < len(s); {
		rest := s[i:]
		switch c := s[i]; {
		case c == '#' || strings.HasPrefix(rest, "//"):
			i += upTo(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += upTo(rest, "*/")
		case c == '"':
			end := closing(rest)
			keep(out, groups, name, rest[1:max(1, end)])
			word, name = "", ""
			i += end + 1
		case c == '=' || c == ':':
			name, word = word, ""
			i++
		case c == '{' || c == '(' || c == '[':
			groups, name, word = append(groups, name), "", ""
			i++
		case c == '}' || c == ')' || c == ']':
			keep(out, groups, name, word)
			groups, name, word = groups[:max(0, len(groups)-1)], "", ""
			i++
		case strings.IndexByte(" \t\r\n;,", c) >= 0:
			if name != "" && word != "" {
				keep(out, groups, name, word)
				name, word = "", ""
			}
			i++
		default:
			end := strings.IndexAny(rest, " \t\r\n;,={}()[]\":#")
			if end < 0 {
				end = len(rest)
			}
			word = rest[:max(1, end)]
			i += max(1, end)
		}
	}
	keep(out, groups, name, word)
	return out
}

func keep(out map[string]string, groups []string, name, value string) {
	if name != "" && value != "" && len(out) < maxSettings {
		out[strings.TrimPrefix(strings.Join(append(groups[:len(groups):len(groups)], name), "."), ".")] = value
	}
}

// upTo gives the length up to and including end.
func upTo(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// closing gives the place of the quote that closes s, which begins with one.
func closing(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}
