package observe

import (
	"bytes"
	"strings"
)

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
