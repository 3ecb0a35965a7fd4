// Package proc parses what the kernel writes into the files of /proc and of control groups.
package proc

import (
	"bytes"
	"strconv"
	"strings"
)

// Sysctl is the file of a setting of the kernel, such as vm.swappiness.
func Sysctl(key string) string { return "/proc/sys/" + strings.ReplaceAll(key, ".", "/") }

// SplitStat splits /proc/PID/stat: the number before the parentheses, the name
// in them, and the fields after them, of which the first is the state. The name
// can hold blanks, newlines and parentheses itself, so its end is the last one.
func SplitStat(data []byte) (pid, comm string, rest []string, ok bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return "", "", nil, false
	}
	return strings.TrimSpace(string(data[:open])), string(data[open+1 : end]), strings.Fields(string(data[end+1:])), true
}

// Keyed finds the number behind a key, in lines such as "oom_kill 2" of a control group and "MemTotal: 16 kB" of meminfo.
func Keyed(data []byte, key string) (n int64, known bool) {
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// Uptime reads /proc/uptime: the seconds since the machine was started.
func Uptime(data []byte) (seconds float64, known bool) {
	f := strings.Fields(string(data))
	if len(f) == 0 {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(f[0], 64)
	if err != nil || !(seconds >= 0 && seconds < 1e11) {
		return 0, false
	}
	return seconds, true
}
