package kernel

import (
	"strings"
	"testing"
)

// procStat is the head and tail of /proc/stat of Linux 6.18 with two processors;
// the line of interrupts is cut.
const procStat = `cpu  906482 751544 946424 1433178 52023 10 57892 77 300 0
cpu0 453241 375772 473212 716589 26011 5 28946 38 150 0
intr 120393 0 9 0
ctxt 358483217
btime 1795566000
processes 4118276
procs_running 3
procs_blocked 1
softirq 90288 0 1
`

func TestParseCPUTime(t *testing.T) {
	got, ok := ParseCPUTime([]byte(procStat))
	want := CPUTime{User: 906482 + 751544, System: 946424 + 10 + 57892, Idle: 1433178, IOWait: 52023, Steal: 77, Switches: 358483217, Running: 3, Blocked: 1}
	if !ok || got != want {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
	for name, text := range map[string]string{
		"no line of tasks": strings.Replace(procStat, "procs_blocked 1\n", "", 1),
		"too large":        strings.Replace(procStat, "906482", "18446744073709551615", 1),
		"no steal":         strings.Replace(procStat, " 10 57892 77 300 0", "", 1),
		"nothing":          "",
	} {
		if got, ok := ParseCPUTime([]byte(text)); ok {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestParseStall(t *testing.T) {
	const text = "some avg10=0.00 avg60=1.20 avg300=0.40 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n"
	if us, ok := ParseStall([]byte(text), "full"); us != 99 || !ok {
		t.Errorf("full: %d, %v", us, ok)
	}
	if us, ok := ParseStall([]byte(text), "other"); ok {
		t.Errorf("a line that is not there: %d", us)
	}
}
