package zfs

import (
	"strconv"
	"strings"
)

// ParseCount reads a counter; one beyond int64 is not to be had.
func ParseCount(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// size reads a number as zpool shows it, exact or rounded: 1536, 1.5K, 294M.
// It gives 0 for what is none; use ParseSize where that matters.
func size(s string) int64 {
	n, _ := ParseSize(s)
	return n
}

// ParseSize reads a size in bytes, exact or rounded to a binary unit.
func ParseSize(s string) (int64, bool) {
	if n, ok := ParseCount(s); ok {
		return n, true
	}
	s = strings.TrimSuffix(s, "B")
	if s == "" {
		return 0, false
	}
	unit := strings.IndexByte("KMGTPE", s[len(s)-1])
	if unit < 0 {
		n, ok := ParseCount(s)
		return n, ok
	}
	f, err := strconv.ParseFloat(s[:len(s)-1], 64)
	if err != nil || f < 0 || f > 8192 {
		return 0, false
	}
	f *= float64(int64(1) << (10 * (unit + 1)))
	if f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}
