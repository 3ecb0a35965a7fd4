package load

import (
	"strconv"
	"strings"

	"plumb/internal/load"
	"plumb/internal/units"
)

// shownSetting writes sizes that a server gives in plain bytes as people do.
func shownSetting(s load.Setting) string {
	if n, err := strconv.ParseInt(s.Value, 10, 64); err == nil && n >= 1<<20 && strings.Contains(s.Name, "size") {
		return units.Bytes(n)
	}
	return s.Value
}
