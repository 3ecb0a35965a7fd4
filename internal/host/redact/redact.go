// Package redact takes passwords and tokens out of what was read from a host,
// before anybody sees it. A secret becomes "***"; all other bytes stay as
// they are, so that what is parsed later means the same.
//
// Where it is not clear how far a secret goes, the rest of the line goes with
// it: a setting lost is better than a password on a tape. What was redacted
// once is not changed by doing it again.
package redact

import (
	"path"
	"strings"
)

// Mark stands for a secret.
const Mark = "***"

// File redacts the content of a file; name tells what kind of file it is.
// Files of /proc and /sys hold no secrets, except for command lines and
// environments of processes.
func File(name string, data []byte) []byte {
	for {
		inner, ok := insideProcess(name)
		if !ok {
			break
		}
		name = inner
	}
	base := path.Base(name)
	if strings.HasPrefix(name, "/proc/") {
		switch {
		case base == "cmdline" && path.Dir(name) != "/proc":
			return keep(data, commandLine(string(data)))
		case base == "environ":
			return keep(data, environment(string(data)))
		case base != "cmdline":
			return data
		}
	}
	if strings.HasPrefix(name, "/sys/") {
		return data
	}
	lower := strings.ToLower(base)
	switch {
	case strings.Contains(lower, "pgpass"):
		return keep(data, passwordFile(string(data)))
	case strings.Contains(lower, "mylogin"):
		if len(data) == 0 {
			return data
		}
		return []byte(Mark)
	case lower == "userlist.txt":
		return keep(data, userList(string(data)))
	}
	return keep(data, text(string(data), formOf(lower)))
}

// keep spares a copy where nothing was redacted.
func keep(data []byte, redacted string) []byte {
	if redacted == string(data) {
		return data
	}
	return []byte(redacted)
}

// insideProcess takes /proc/PID/root off a path.
func insideProcess(name string) (string, bool) {
	parts := strings.SplitN(name, "/", 5)
	if len(parts) == 5 && parts[0] == "" && parts[1] == "proc" && (parts[3] == "root" || parts[3] == "cwd") {
		return "/" + parts[4], true
	}
	return name, false
}

// form is how a text is written, as far as it changes where a secret ends.
type form int

const (
	plain  form = iota // a sentence, output, a cell
	config             // "key = value", "key value" or YAML
	option             // MySQL's option files: a value goes to the end of the line
)

func formOf(base string) form {
	switch {
	case strings.Contains(base, "proxysql"):
		return config
	case strings.HasSuffix(base, ".cnf"), strings.HasSuffix(base, ".ini"):
		return option
	}
	return config
}

// Output redacts what a command printed.
func Output(argv []string, data []byte) []byte {
	if len(argv) == 0 {
		return data
	}
	if path.Base(argv[0]) == "postgres" { // -C name prints the value alone
		for i, arg := range argv[:len(argv)-1] {
			value := strings.TrimRight(string(data), "\n")
			if arg == "-C" && value != "" && secretKey(argv[i+1]) {
				return []byte(Mark + string(data[len(value):]))
			}
		}
	}
	if path.Base(argv[0]) == "my_print_defaults" {
		return keep(data, text(string(data), option))
	}
	return keep(data, text(string(data), plain))
}

// Text redacts a sentence, such as the text of an error.
func Text(s string) string { return text(s, plain) }

// passwordFile redacts .pgpass: host:port:database:user:password.
func passwordFile(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, end := cutEnd(line)
		colons, i := 0, 0
		for ; i < len(body) && colons < 4; i++ {
			switch body[i] {
			case '\\':
				i++
			case ':':
				colons++
			}
		}
		switch {
		case strings.TrimSpace(body) == "":
		case colons == 4 && i < len(body):
			body = body[:i] + Mark
		case colons < 4 && !strings.HasPrefix(strings.TrimSpace(body), "#"):
			body = Mark
		case colons < 4:
			body = text(body, plain)
		}
		b.WriteString(body + end)
	}
	return b.String()
}

// userList redacts PgBouncer's file: "user" "password".
func userList(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, end := cutEnd(line)
		if i := strings.IndexAny(body, " \t"); i >= 0 && strings.TrimSpace(body) != "" {
			body = body[:i+1] + Mark
		}
		b.WriteString(body + end)
	}
	return b.String()
}

// cutEnd divides a line from its end: white space, carriage return, newline.
func cutEnd(line string) (body, end string) {
	body = strings.TrimRight(line, " \t\r\n")
	return body, line[len(body):]
}
