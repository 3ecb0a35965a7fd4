package instance

import (
	"slices"
	"strings"
)

// grave are the marks of the lines in which servers say why they end.
var grave = []string{"[ERROR]", "FATAL:", "PANIC:"}

// complaints are the lines of a log that say why a server ended, or all of it where
// none does: what it said of itself before that drowns them.
func complaints(log string) string {
	var kept []string
	said := false // the last line was one: HINT and DETAIL belong to it
	before := ""  // the last line, if it was none
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		is := slices.ContainsFunc(grave, func(mark string) bool { return strings.Contains(line, mark) }) || strings.Contains(line, "LOG:  could not ")
		more := said && (strings.Contains(line, "HINT:") || strings.Contains(line, "DETAIL:"))
		if strings.HasSuffix(line, "[ERROR] Aborting") && before != "" {
			kept = append(kept, before) // MariaDB marks that it ends, and not always why
		}
		if said, before = is || more, ""; said {
			kept = append(kept, line)
		} else {
			before = line
		}
	}
	if kept == nil {
		return strings.TrimSpace(log)
	}
	return strings.Join(kept, "\n")
}
