package page

import (
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// BytesText writes a number of bytes: 16K, 1.5G.
func BytesText(n int64) string { return catalog.ShowAs(catalog.Bytes, stack.Int(n)) }

// Age writes a duration as a person says it: 41 days, 3 hours.
func Age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return Count(int(d.Hours()/24), "day")
	case d >= 2*time.Hour:
		return Count(int(d.Hours()), "hour")
	case d >= 2*time.Minute:
		return Count(int(d.Minutes()), "minute")
	}
	return Count(int(d.Seconds()), "second")
}

// Shell quotes a word for sh when it needs it.
func Shell(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@=+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
