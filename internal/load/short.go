package load

import (
	"strings"

	"plumb/internal/units"
)

// shown is as much of a statement as an error shows.
const shown = 120

// Short cuts a statement for an error message: all white space becomes one
// space, what is too long an ellipsis.
func Short(query string) string {
	if len(query) > 8*shown {
		query = query[:8*shown]
	}
	return units.Start(strings.ToValidUTF8(strings.Join(strings.Fields(query), " "), ""), shown)
}
