package kernel

import (
	"strconv"
	"strings"
)

// ParseMeminfo reads "Name:   123 kB" lines; sizes become bytes, counts
// without a unit (HugePages_Total) stay counts.
func ParseMeminfo(data []byte) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		name, rest, ok := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if !ok || len(f) == 0 || len(f) > 2 {
			continue
		}
		n, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || n < 0 || n > 1<<52 {
			continue
		}
		if len(f) == 2 && f[1] == "kB" {
			n <<= 10
		}
		out[strings.TrimSpace(name)] = n
	}
	return out
}

// ParseCounters reads "name number" lines: /proc/vmstat.
func ParseCounters(data []byte) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			out[f[0]] = n
		}
	}
	return out
}

// parseRated reads the rated clock from a model name such as "Intel(R)
// Xeon(R) Processor @ 2.50GHz", in MHz.
func parseRated(model string) (float64, bool) {
	_, speed, ok := strings.Cut(model, "@")
	speed, isGHz := strings.CutSuffix(strings.TrimSpace(speed), "GHz")
	if !ok || !isGHz {
		return 0, false
	}
	ghz, err := strconv.ParseFloat(strings.TrimSpace(speed), 64)
	return ghz * 1000, err == nil && ghz > 0 && ghz < 20
}

// parsePressure reads one line of /proc/pressure: share of the time, percent.
func parsePressure(data []byte, line string) map[string]float64 {
	for l := range strings.Lines(string(data)) {
		f := strings.Fields(l)
		if len(f) == 0 || f[0] != line {
			continue
		}
		out := map[string]float64{}
		for _, kv := range f[1:] {
			name, value, _ := strings.Cut(kv, "=")
			if n, err := strconv.ParseFloat(value, 64); err == nil && n >= 0 && n <= 100 && strings.HasPrefix(name, "avg") {
				out[name] = n
			}
		}
		return out
	}
	return nil
}

// parseNetstat reads one counter of /proc/net/netstat, where a line of names
// stands above a line of numbers.
func parseNetstat(data []byte, group, name string) (int64, bool) {
	var names []string
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != group {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i, n := range names {
			if n == name && i < len(f) {
				v, err := strconv.ParseInt(f[i], 10, 64)
				return v, err == nil && v >= 0
			}
		}
		return 0, false
	}
	return 0, false
}
