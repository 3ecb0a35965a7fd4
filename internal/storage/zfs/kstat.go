package zfs

import (
	"strconv"
	"strings"

	"plumb/internal/zfs"
)

// ParseKstat reads the "name type data" lines of a named kstat. Lines of
// another shape, the two header lines among them, are passed over.
func ParseKstat(text []byte) map[string]int64 {
	stats := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || !isNumber(fields[1]) {
			continue
		}
		if n, ok := zfs.ParseCount(fields[2]); ok {
			stats[fields[0]] = n
		}
	}
	return stats
}

func isNumber(s string) bool { _, ok := zfs.ParseCount(s); return ok }

// syncTimes reads how long the last transaction groups took to be written,
// in microseconds, from a pool's txgs kstat. Groups still on their way have
// no time yet.
func syncTimes(text []byte) []int64 {
	const maxGroups = 10_000
	var times []int64
	column := -1
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if column < 0 {
			for i, f := range fields {
				if f == "stime" {
					column = i
				}
			}
			continue
		}
		if len(fields) <= column || len(fields) < 3 || fields[2] != "C" || len(times) == maxGroups {
			continue
		}
		if ns, ok := zfs.ParseCount(fields[column]); ok {
			times = append(times, ns/1000)
		}
	}
	return times
}

func parseHex(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 16, 64)
	return n, err == nil
}
