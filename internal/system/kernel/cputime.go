package kernel

import (
	"math"
	"strconv"
	"strings"
)

// CPUTime is what /proc/stat counts of all processors together, in USER_HZ,
// which is 1/100 s everywhere Linux runs databases.
type CPUTime struct {
	User, System, Idle, IOWait, Steal int64
	Switches                          int64
	Running, Blocked                  int64 // tasks at that moment
}

// ParseCPUTime reads /proc/stat. Guests are counted in user and nice already.
// A file that lacks one of the lines is none of a kernel that Plumb knows.
func ParseCPUTime(data []byte) (t CPUTime, ok bool) {
	found := 0
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, " ")
		into := map[string]*int64{"ctxt": &t.Switches, "procs_running": &t.Running, "procs_blocked": &t.Blocked}[name]
		if name != "cpu" && into == nil {
			continue
		}
		n, ok := counts(strings.Fields(rest))
		if !ok || len(n) == 0 {
			return CPUTime{}, false
		}
		found++
		if into != nil {
			*into = n[0]
			continue
		}
		if len(n) < 8 { // before Linux 2.6.11
			return CPUTime{}, false
		}
		t.User, t.System, t.Idle, t.IOWait, t.Steal = n[0]+n[1], n[2]+n[5]+n[6], n[3], n[4], n[7]
	}
	return t, found == 4
}

// counts reads numbers that are small enough to be added up.
func counts(fields []string) ([]int64, bool) {
	out := make([]int64, len(fields))
	for i, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/16 {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// ParseStall reads the time since boot, in microseconds, from one line ("some"
// or "full") of a file of pressure stall information.
func ParseStall(data []byte, line string) (us int64, ok bool) {
	for l := range strings.Lines(string(data)) {
		f := strings.Fields(l)
		if len(f) == 0 || f[0] != line {
			continue
		}
		total, found := strings.CutPrefix(f[len(f)-1], "total=")
		us, err := strconv.ParseInt(total, 10, 64)
		return us, found && err == nil && us >= 0
	}
	return 0, false
}
