package volume

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
)

// parseProperties reads what zfs get -H -o property,value prints.
func parseProperties(text []byte) map[string]string {
	all := map[string]string{}
	for line := range bytes.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\n"), "\t")
		if ok && name != "" {
			all[name] = value
		}
	}
	return all
}

// parsePool reads what zpool get prints as a table; zfs-fuse has no other form.
func parsePool(text []byte, pool string) map[string]string {
	all := map[string]string{}
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) >= 3 && f[0] == pool {
			all[f[1]] = f[2]
		}
	}
	return all
}

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
