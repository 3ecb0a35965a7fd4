package zfs

import "strings"

// ARCStats is where OpenZFS tells how its ARC does, as a named kstat.
const ARCStats = "/proc/spl/kstat/zfs/arcstats"

// ParseKstat reads the "name type data" lines of a named kstat. Lines of
// another shape, the two header lines among them, are passed over.
func ParseKstat(text []byte) map[string]int64 {
	stats := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || !isNumber(fields[1]) {
			continue
		}
		if n, ok := ParseCount(fields[2]); ok {
			stats[fields[0]] = n
		}
	}
	return stats
}

func isNumber(s string) bool { _, ok := ParseCount(s); return ok }
