package point

import (
	"regexp"
	"strings"

	"plumb/internal/units"
)

// literals are what a statement holds of people's data.
var literals = regexp.MustCompile(`'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.|"")*"?|\b0[xXbB][0-9a-fA-F]+\b|\b\d+(?:\.\d+)?\b`)

var comments = regexp.MustCompile(`(?s)/\*.*?(?:\*/|$)|(?:--\s|#)[^\n]*`)

// shape gives the beginning of a statement without its values.
func shape(statement string) string {
	s := strings.Join(strings.Fields(literals.ReplaceAllString(comments.ReplaceAllString(statement, " "), "?")), " ")
	return plain(s)
}

// plain bounds a text of the server's, and takes out what a terminal would obey.
func plain(s string) string {
	return units.Start(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s), 120)
}

// changesTables tells whether a statement is one for which, and not only with
// which, MariaDB's backup stages wait.
func changesTables(statement string) bool {
	word, _, _ := strings.Cut(shape(statement), " ")
	switch strings.ToUpper(strings.TrimLeft(word, "(")) {
	case "ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE", "OPTIMIZE", "REPAIR", "ANALYZE", "LOCK", "FLUSH", "BACKUP", "GRANT", "REVOKE":
		return true
	}
	return false
}
