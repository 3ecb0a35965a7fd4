package tables

import (
	"fmt"
	"strings"

	"plumb/internal/hint"
)

// Name is what a table is called: its database, for some products its schema, and its own name.
type Name []string

// String writes the name for people.
func (n Name) String() string { return strings.Join(n, ".") }

// Own is the table's own name.
func (n Name) Own() string { return n[len(n)-1] }

// Called gives the name of another table beside it.
func (n Name) Called(own string) Name { return append(append(Name{}, n[:len(n)-1]...), own) }

// Parse reads parts with points between them. A part in quotes or back-ticks can hold
// anything, and that sign twice for itself.
func Parse(text string) (n Name, err error) {
	bad := hint.Usage(fmt.Sprintf("%q is not a table name", text), "give DATABASE.TABLE, for PostgreSQL DATABASE.SCHEMA.TABLE; a part with a point in it in \" or `")
	for rest := text; ; {
		var part string
		if rest == "" {
			return nil, bad
		}
		if quote := rest[:1]; quote == "`" || quote == `"` {
			var ok bool
			if part, rest, ok = unquote(rest[1:], quote); !ok || rest != "" && rest[0] != '.' {
				return nil, bad
			}
		} else {
			at := len(rest)
			if i := strings.IndexByte(rest, '.'); i >= 0 {
				at = i
			}
			part, rest = rest[:at], rest[at:]
		}
		if part == "" || strings.ContainsRune(part, 0) || strings.Contains(part, "{mark}") { // the journal's word for something else
			return nil, bad
		}
		n = append(n, part)
		if rest == "" {
			break
		}
		rest = rest[1:]
	}
	if len(n) < 2 || len(n) > 3 {
		return nil, bad
	}
	return n, nil
}

// unquote reads up to the closing sign.
func unquote(text, quote string) (part, rest string, ok bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, quote)
		b.WriteString(before)
		if !found || !strings.HasPrefix(after, quote) {
			return b.String(), after, found
		}
		b.WriteString(quote)
		text = after[1:]
	}
}
