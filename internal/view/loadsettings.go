package view

import (
	"strconv"
	"strings"

	"plumb/internal/load"
)

// shownSetting writes sizes that a server gives in plain bytes as people do.
func shownSetting(s load.Setting) string {
	if n, err := strconv.ParseInt(s.Value, 10, 64); err == nil && n >= 1<<20 && strings.Contains(s.Name, "size") {
		return bytesText(n)
	}
	return s.Value
}
