package process

import (
	"strconv"
	"strings"
)

// Usage is what one process has used, from /proc/PID/stat. Times hold those of
// the children it had and waited for, so that the sum over a server's processes
// does not fall when one of them ends.
type Usage struct {
	PID     int
	Comm    string // as the kernel has it, which may be no UTF-8
	User    int64  // ms
	System  int64  // ms
	Start   int64  // when it was started, since boot, in 1/100 s
	Threads int64
	Pages   int64 // resident
}

// Tick is what the times of /proc/stat and /proc/PID/stat are counted in, in ms: USER_HZ is 100
// wherever Linux runs databases.
const Tick = 10

// ParseUsage reads /proc/PID/stat.
func ParseUsage(data []byte) (Usage, bool) {
	pid, comm, f, ok := splitStat(data)
	if !ok || len(f) < 22 {
		return Usage{}, false
	}
	var n [22]int64
	for _, i := range []int{11, 12, 13, 14, 17, 19, 21} {
		v, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil || v > 1<<52 {
			return Usage{}, false
		}
		n[i] = max(v, 0) // the times of children are signed, and have been below zero
	}
	return Usage{PID: pid, Comm: comm, User: (n[11] + n[13]) * Tick, System: (n[12] + n[14]) * Tick,
		Start: n[19], Threads: n[17], Pages: n[21]}, true
}

// ParseIO reads /proc/PID/io: the bytes that a process, and the children it
// waited for, had read from devices and written to the page cache or devices.
func ParseIO(data []byte) (read, written int64, ok bool) {
	read, okR := colonNumber(data, "read_bytes")
	written, okW := colonNumber(data, "write_bytes")
	return read, written, okR && okW
}

func colonNumber(data []byte, name string) (int64, bool) {
	for line := range strings.Lines(string(data)) {
		rest, is := strings.CutPrefix(line, name+":")
		if !is {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}
