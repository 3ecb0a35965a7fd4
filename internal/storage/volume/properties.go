package volume

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// lasting leaves out the properties that are counters, names and dates.
func lasting(all map[string]string) map[string]string {
	keep := []string{"recordsize", "compression", "checksum", "sync", "logbias", "primarycache", "secondarycache", "atime", "relatime",
		"copies", "dedup", "xattr", "dnodesize", "redundant_metadata", "special_small_blocks", "direct", "prefetch", "quota", "reservation",
		"refquota", "refreservation", "version"}
	out := map[string]string{}
	for name, value := range all {
		if slices.Contains(keep, name) {
			out[name] = value
		}
	}
	return out
}

// number reads a count of bytes or a ratio such as 1.50x.
func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}
