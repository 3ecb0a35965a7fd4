package filesystem

import (
	"strconv"
	"strings"
)

// parseErrorStats adds up the counters of a btrfs error_stats file: lines such
// as "write_errs 0".
func parseErrorStats(data []byte) int64 {
	total := int64(0)
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 2 || !strings.HasSuffix(f[0], "_errs") {
			continue
		}
		// Bounded so that a wild line cannot wrap the sum.
		if n, err := strconv.ParseInt(f[1], 10, 32); err == nil && n > 0 && total < 1<<40 {
			total += n
		}
	}
	return total
}
