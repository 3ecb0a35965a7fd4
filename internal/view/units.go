package view

import (
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

func bytesText(n int64) string { return catalog.ShowAs(catalog.Bytes, stack.Int(n)) }

// age writes a duration as a person says it: 41 days, 3 hours.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return count(int(d.Hours()/24), "day")
	case d >= 2*time.Hour:
		return count(int(d.Hours()), "hour")
	case d >= 2*time.Minute:
		return count(int(d.Minutes()), "minute")
	}
	return count(int(d.Seconds()), "second")
}

// shell quotes a word for sh when it needs it.
func shell(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@=+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
