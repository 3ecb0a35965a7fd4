package zfs

import "strings"

// ParseAshift reads from `zdb -C`, which prints the cached configuration of
// all pools, the smallest ashift among the vdevs of each pool. Log devices
// are left out: the size of their blocks is their own business.
func ParseAshift(text []byte) map[string]int64 {
	least := map[string]int64{}
	var pool string
	var ashift int64
	log := false
	flush := func() {
		if have, ok := least[pool]; pool != "" && ashift > 0 && !log && (!ok || ashift < have) {
			least[pool] = ashift
		}
		ashift, log = 0, false
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		name, heading := strings.CutSuffix(line, ":")
		switch {
		case heading && name != "" && name[0] != ' ' && name[0] != '\t':
			flush()
			pool = name
		case strings.HasPrefix(trimmed, "children["):
			flush()
		}
		if value, ok := strings.CutPrefix(trimmed, "ashift: "); ok {
			ashift, _ = ParseCount(value)
		}
		if trimmed == "is_log: 1" {
			log = true
		}
	}
	flush()
	return least
}
