package process

import (
	"bytes"
	"strconv"
	"strings"

	"plumb/internal/host/mounts"
	"plumb/internal/host/proc"
)

// parseStat reads /proc/PID/stat.
func parseStat(data []byte) (stat, bool) {
	pid, comm, rest, ok := splitStat(data)
	if !ok {
		return stat{}, false
	}
	ppid, err := strconv.Atoi(rest[1])
	if err != nil {
		return stat{}, false
	}
	start, err := strconv.ParseInt(rest[19], 10, 64)
	if err != nil || start < 0 {
		return stat{}, false
	}
	return stat{pid: pid, ppid: ppid, comm: comm, start: start}, true
}

// ended tells whether a process has ended, and only its number is left: it serves nobody.
func ended(data []byte) bool {
	_, _, rest, ok := splitStat(data)
	return ok && (rest[0] == "Z" || rest[0] == "X")
}

// splitStat splits /proc/PID/stat into a whole line of it: number, name and the
// fields from the third on.
func splitStat(data []byte) (pid int, comm string, rest []string, ok bool) {
	number, comm, rest, ok := proc.SplitStat(data)
	pid, err := strconv.Atoi(number)
	return pid, comm, rest, ok && err == nil && pid > 0 && len(rest) >= 20
}

// parseCmdline splits the arguments of a process. A process that wrote its
// own title pads it with NULs; those are dropped.
func parseCmdline(data []byte) []string {
	data = bytes.TrimRight(data, "\x00")
	if len(data) == 0 {
		return nil
	}
	return strings.Split(string(data), "\x00")
}

// parseColons reads "Name: value" lines: /proc/PID/status, smaps_rollup.
func parseColons(data []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(line, ":")
		if ok {
			out[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return out
}

// kilobytes reads "123 kB" as bytes.
func kilobytes(s string) (int64, bool) {
	digits, ok := strings.CutSuffix(s, " kB")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 0 || n > 1<<52 {
		return 0, false
	}
	return n << 10, true
}

// limit is one resource limit; none means unlimited.
type limit struct {
	soft, hard         int64
	softNone, hardNone bool
}

// parseLimits reads /proc/PID/limits by the limit's name, such as "Max open
// files".
func parseLimits(data []byte, name string) (limit, bool) {
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		f := strings.Fields(rest)
		if len(f) < 2 {
			return limit{}, false
		}
		var l limit
		var okSoft, okHard bool
		l.soft, l.softNone, okSoft = limitValue(f[0])
		l.hard, l.hardNone, okHard = limitValue(f[1])
		return l, okSoft && okHard
	}
	return limit{}, false
}

func limitValue(s string) (n int64, none, ok bool) {
	if s == "unlimited" {
		return 0, true, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, false, err == nil && n >= 0
}

// hidesProcesses tells from mountinfo whether /proc hides other users'
// processes.
func hidesProcesses(table []byte) bool {
	for m, err := range mounts.Parse(table) {
		if err != nil || m.Mountpoint != "/proc" {
			continue
		}
		for o := range strings.SplitSeq(m.VFSOptions+","+m.Options, ",") {
			if v, ok := strings.CutPrefix(o, "hidepid="); ok && v != "0" && v != "off" {
				return true
			}
		}
	}
	return false
}
