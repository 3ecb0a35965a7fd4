package sampler

import (
	"maps"
	"reflect"
	"testing"
)

// statText is of a machine with two processors and Linux 6.18, its line of
// interrupts cut.
const statText = `cpu  1000 20 300 40000 500 6 7 80 9 0
cpu0 500 10 150 20000 250 3 3 40 4 0
intr 12345 0 9 0
ctxt 987654321
btime 1764000000
processes 4242
procs_running 3
procs_blocked 1
softirq 1 2 3
`

func TestParseStat(t *testing.T) {
	got := parseStat([]byte(statText))
	want := times{user: 10200, system: 3130, iowait: 5000, idle: 400000, steal: 800, switches: 987654321, running: 3, blocked: 1,
		told: map[string]bool{"cpu": true, "ctxt": true, "procs_running": true, "procs_blocked": true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "cpu 1 2 3\n", "cpu  -1 0 0 0 0 0 0 0\n", "ctxt\n", "cpu  1 2 3 4 5 6 7 99999999999999999999\n"} {
		if got := parseStat([]byte(bad)); len(got.told) != 0 {
			t.Errorf("%q tells %v", bad, got.told)
		}
	}
}

func TestParseStalls(t *testing.T) {
	got := parseStalls([]byte("some avg10=8.59 avg60=8.89 avg300=11.57 total=3060017734\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=773414941\n"))
	if want := map[string]int64{"some": 3060017734, "full": 773414941}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := parseStalls([]byte("some avg10=1 total=-1\nfull total=x\nother total=1\n")); len(got) != 0 {
		t.Errorf("nonsense gave %v", got)
	}
}

func TestParseGroupDevices(t *testing.T) {
	stat := parseIOStat([]byte("7:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n8:0\n254:0 rbytes=1 cost.usage=5\nx rbytes=1\n"))
	if want := (perDevice{"7:0": {"read_bytes": 4096, "written_bytes": 8192, "reads": 1, "writes": 2}, "254:0": {"read_bytes": 1}}); !reflect.DeepEqual(stat, want) {
		t.Errorf("io.stat: %v", stat)
	}
	limits := parseIOMax([]byte("7:0 rbps=max wbps=1048576 riops=500 wiops=max\n"))
	if want := (perDevice{"7:0": {"write_bytes_limit": 1048576, "read_iops_limit": 500}}); !reflect.DeepEqual(limits, want) {
		t.Errorf("io.max: %v", limits)
	}
	v1 := perDevice{}
	parseServiced([]byte("7:0 Read 10\n7:0 Write 20\n7:0 Sync 30\n7:0 Total 30\nTotal 30\n"), "reads", "writes", v1)
	parseDeviceLimits([]byte("7:0 500\n7:1 0\nnonsense\n"), "read_iops_limit", v1)
	if want := (perDevice{"7:0": {"reads": 10, "writes": 20, "read_iops_limit": 500}}); !reflect.DeepEqual(v1, want) {
		t.Errorf("version 1: %v", v1)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{statText, "some total=1\n", "7:0 rbytes=1 wbytes=max\n", "7:0 Read 1\n", "123.4 5.6\n", "1 2 3 ", "7:0 500\n", "usage_usec 5\n", "\xff\xfe 1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := parseStat(data)
		for _, n := range []int64{x.user, x.system, x.iowait, x.idle, x.steal, x.switches, x.running, x.blocked} {
			if n < 0 {
				t.Errorf("a count below zero: %+v", x)
			}
		}
		for _, n := range parseStalls(data) {
			if n < 0 {
				t.Errorf("a stall of %d", n)
			}
		}
		for _, pid := range parseChildren(data) {
			if pid <= 0 {
				t.Errorf("a process %d", pid)
			}
		}
		into := parseIOStat(data)
		maps.Copy(into, parseIOMax(data))
		parseServiced(data, "reads", "writes", into)
		parseDeviceLimits(data, "read_iops_limit", into)
		for device, values := range into {
			if !isDevice(device) {
				t.Errorf("a device %q", device)
			}
			for name, n := range values {
				if n < 0 {
					t.Errorf("%s = %d", name, n)
				}
			}
		}
		parseKeyed(data)
	})
}
