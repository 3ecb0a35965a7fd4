package process

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Usage is what /proc/PID/stat counts of a process, times in USER_HZ.
type Usage struct {
	Parent                       int
	Start                        int64 // since boot
	User, System                 int64
	ChildrenUser, ChildrenSystem int64 // of those that ended and were waited for
	Threads                      int64
}

// ParseUsage reads /proc/PID/stat.
func ParseUsage(data []byte) (Usage, bool) {
	s, ok := parseStat(data)
	if !ok {
		return Usage{}, false
	}
	rest := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	u := Usage{Parent: s.ppid, Start: s.start}
	for at, into := range map[int]*int64{11: &u.User, 12: &u.System, 13: &u.ChildrenUser, 14: &u.ChildrenSystem, 17: &u.Threads} {
		n, err := strconv.ParseInt(rest[at], 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/16 {
			return Usage{}, false
		}
		*into = n
	}
	return u, true
}

// IO is what /proc/PID/io counts, in bytes of devices. What those count that
// ended and were waited for is in that of their parent.
type IO struct{ Read, Written uint64 }

// ParseIO reads /proc/PID/io.
func ParseIO(data []byte) (IO, bool) {
	m := parseColons(data)
	read, err1 := strconv.ParseUint(m["read_bytes"], 10, 64)
	written, err2 := strconv.ParseUint(m["write_bytes"], 10, 64)
	return IO{read, written}, err1 == nil && err2 == nil
}

// ParseChildren reads /proc/PID/task/TID/children.
func ParseChildren(data []byte) (pids []int) {
	for f := range strings.FieldsSeq(string(data)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
