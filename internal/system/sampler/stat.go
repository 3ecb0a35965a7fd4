package sampler

import (
	"strconv"
	"strings"

	"plumb/internal/system/process"
)

// times are those of all processors together since boot, in ms, and what else
// /proc/stat tells.
type times struct {
	user, system, iowait, idle, steal int64
	switches, running, blocked        int64
	told                              map[string]bool // lines that were there
}

// parseStat reads /proc/stat. The time of guests is in user and nice already.
func parseStat(data []byte) times {
	t := times{told: map[string]bool{}}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, " ")
		switch name {
		case "cpu":
			n, ok := numbers(strings.Fields(rest), 8)
			if !ok {
				continue
			}
			const tick = process.Tick
			t.user, t.system = (n[0]+n[1])*tick, (n[2]+n[5]+n[6])*tick
			t.idle, t.iowait, t.steal = n[3]*tick, n[4]*tick, n[7]*tick
		case "ctxt", "procs_running", "procs_blocked":
			n, ok := numbers(strings.Fields(rest), 1)
			if !ok {
				continue
			}
			switch name {
			case "ctxt":
				t.switches = n[0]
			case "procs_running":
				t.running = n[0]
			default:
				t.blocked = n[0]
			}
		default:
			continue // a line of one processor, or of interrupts, which is long
		}
		t.told[name] = true
	}
	return t
}

// numbers reads the first fields, all of which must be counts.
func numbers(fields []string, want int) ([]int64, bool) {
	if len(fields) < want {
		return nil, false
	}
	out := make([]int64, want)
	for i := range out {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil || n < 0 || n > 1<<56 {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// parseStalls reads a pressure file: for how many µs some and all tasks waited.
func parseStalls(data []byte) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "some" && f[0] != "full" {
			continue
		}
		for _, kv := range f[1:] {
			if n, ok := strings.CutPrefix(kv, "total="); ok {
				if us, err := strconv.ParseInt(n, 10, 64); err == nil && us >= 0 {
					out[f[0]] = us
				}
			}
		}
	}
	return out
}
