package scratch

import (
	"bytes"
	"strconv"
)

// Fetched is how many bytes storage had to give for this process since it
// began, of /proc/self/io: what the page cache answered is not in it.
func Fetched() (int64, bool) {
	data, err := small("/proc/self/io")
	if err != nil {
		return 0, false
	}
	return parseProcIO(data)
}

// parseProcIO finds read_bytes in /proc/self/io.
func parseProcIO(data []byte) (int64, bool) {
	for line := range bytes.Lines(data) {
		if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("read_bytes: ")); ok {
			n, err := strconv.ParseInt(string(text), 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}
