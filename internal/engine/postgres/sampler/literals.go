package sampler

import (
	"regexp"
	"slices"
	"strings"
)

// shown gives of a statement's text what may be kept: no literal. The server
// takes literals out of what it plans, but not always (the entry was thrown out
// between parsing and execution), and of commands only since 16, without
// passwords. So strings, numbers and comments go here, whatever the server did;
// of a command, in which a value can look like a name, two words stay.
func shown(text string) string {
	text = bounded(text)
	plain := withoutLiterals(text)
	words := strings.Fields(plain)
	if len(words) == 0 {
		return ""
	}
	if planned(words[0]) && !strings.Contains(text, `\'`) { // with standard_conforming_strings off that does not end a string
		return plain
	}
	if len(words) == 1 {
		return letters(words[0])
	}
	return strings.TrimSpace(letters(words[0]) + " " + letters(words[1]) + " …")
}

// planned reports whether the server plans a statement that begins with a word,
// and so knows where its constants are.
func planned(word string) bool {
	return slices.Contains([]string{"select", "insert", "update", "delete", "merge", "with", "values", "table"}, strings.ToLower(strings.TrimLeft(word, "(")))
}

// letters keeps a word that is a plain one.
func letters(word string) string {
	if strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz;") == "" {
		return word
	}
	return ""
}

// literal is a comment (of one that can have others in it the beginning), a string in any of its forms, a quoted
// name, a parameter, a word or a number. What is open to the end is matched to the end.
var literal = regexp.MustCompile(`(?s)--[^\n]*|/\*|` +
	`(?:[eE]'(?:[^'\\]|\\.|'')*(?:'|\\?$))|(?:(?:[uU]&|[bBxXnN])?'(?:[^']|'')*(?:'|$))|` +
	`"(?:[^"]|"")*(?:"|$)|\$[0-9]+|\$[A-Za-z_\x{80}-\x{10ffff}]*[A-Za-z0-9_\x{80}-\x{10ffff}]*\$|[A-Za-z_\x{80}-\x{10ffff}][A-Za-z0-9_$\x{80}-\x{10ffff}]*|` +
	`[0-9][0-9A-Za-z_.]*|\.[0-9]+`)

// withoutLiterals puts ? in the place of strings and numbers, and drops comments.
func withoutLiterals(text string) string {
	var out strings.Builder
	for text != "" {
		at := literal.FindStringIndex(text)
		if at == nil {
			out.WriteString(text)
			break
		}
		out.WriteString(text[:at[0]])
		token := text[at[0]:at[1]]
		text = text[at[1]:]
		switch c := token[0]; {
		case strings.HasPrefix(token, "--"):
			out.WriteByte(' ')
		case token == "/*":
			out.WriteByte(' ')
			text = afterComment(text)
		case c == '"' || c == '$' && len(token) > 1 && token[len(token)-1] != '$':
			out.WriteString(token)
		case c == '$': // a string in dollars, to the same mark
			if _, rest, found := strings.Cut(text, token); found {
				text = rest
			} else {
				text = ""
			}
			out.WriteByte('?')
		case strings.Contains(token, "'") || c == '.' || c >= '0' && c <= '9':
			out.WriteByte('?')
		default:
			out.WriteString(token)
		}
	}
	return out.String()
}

// afterComment gives what comes after a comment that has begun: one in it is part of it, and one that is open goes to the end.
func afterComment(text string) string {
	for open := 1; open > 0; {
		at := strings.IndexAny(text, "/*")
		if at < 0 || at == len(text)-1 {
			return ""
		}
		switch text[at : at+2] {
		case "/*":
			open++
		case "*/":
			open--
		default:
			text = text[at+1:]
			continue
		}
		text = text[at+2:]
	}
	return text
}

// longestText bounds the text of a statement.
const longestText = 4096

func bounded(text string) string {
	if len(text) > longestText {
		return strings.ToValidUTF8(text[:longestText], "")
	}
	return text
}
