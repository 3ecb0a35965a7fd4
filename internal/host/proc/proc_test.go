package proc

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitStat(t *testing.T) {
	pid, comm, rest, ok := SplitStat([]byte("17 (a) S (b) R 1 17\n"))
	if !ok || pid != "17" || comm != "a) S (b" || !slices.Equal(rest, []string{"R", "1", "17"}) {
		t.Errorf("%q %q %q %v", pid, comm, rest, ok)
	}
	if pid, comm, rest, ok := SplitStat([]byte("17 (x)")); !ok || pid != "17" || comm != "x" || len(rest) != 0 {
		t.Errorf("of a text that is cut: %q %q %q %v", pid, comm, rest, ok)
	}
	for _, bad := range []string{"", "17 a S", "17 )a( S", "("} {
		if _, _, _, ok := SplitStat([]byte(bad)); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzSplitStat(f *testing.F) {
	f.Add([]byte("17 (a) S (b) R 1 17"))
	f.Add([]byte("12 )("))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, rest, _ := SplitStat(data)
		for _, field := range rest {
			if strings.ContainsAny(field, " \t\n") {
				t.Errorf("field %q", field)
			}
		}
	})
}

func TestKeyed(t *testing.T) {
	text := []byte("oom 3\noom_kill 2\nlow max\nMemTotal:  16 kB\n")
	for key, want := range map[string]int64{"oom_kill": 2, "MemTotal:": 16} {
		if n, known := Keyed(text, key); n != want || !known {
			t.Errorf("%s: %d, %v", key, n, known)
		}
	}
	for _, key := range []string{"low", "oom_", ""} {
		if n, known := Keyed(text, key); known {
			t.Errorf("%q is %d", key, n)
		}
	}
}

func FuzzKeyed(f *testing.F) {
	f.Add([]byte("oom_kill 2\n"), "oom_kill")
	f.Fuzz(func(_ *testing.T, data []byte, key string) { Keyed(data, key) })
}

func TestUptime(t *testing.T) {
	for text, want := range map[string]float64{"12.5 30.1\n": 12.5, "0.00 0.00": 0} {
		if got, known := Uptime([]byte(text)); !known || got != want {
			t.Errorf("%q: %v, %v", text, got, known)
		}
	}
	for _, text := range []string{"", "\n", "-1 0", "NaN 1", "1e12 0", "up 3"} {
		if got, known := Uptime([]byte(text)); known {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// diskstatsText is of a real machine with Linux 6.18; the line of sda1 is as Linux 4.4 wrote it.
const diskstatsText = `   7       0 loop0 23 0 6480 4 28 0 3392 2 0 4 6 0 0 0 0 0 0
 254       0 vda 51725 9016 3073922 36922 27457 22157 3793680 10393 0 14252 49379 7578 11 717640 1968 4356 95
   8       1 sda1 10 0 80 40 2 0 16 4 1 44 44
garbage
   8       2 sda2 x 0 80 40 2 0 16 4 1 44 44
`

func TestDiskstats(t *testing.T) {
	got := Diskstats([]byte(diskstatsText))
	want := Disk{Reads: 51725, ReadMillis: 36922, Writes: 27457, WriteMillis: 10393, Flushes: 4356, FlushMillis: 95, HasFlushes: true, BusyMillis: 14252,
		ReadBytes: 3073922 * 512, WrittenBytes: 3793680 * 512, Discards: 7578, HasDiscards: true, QueueMillis: 49379}
	if got["vda"] != want {
		t.Errorf("vda: %+v, want %+v", got["vda"], want)
	}
	if c := got["sda1"]; c.InFlight != 1 || c.ReadBytes != 80*512 || c.HasFlushes || c.HasDiscards || c.QueueMillis != 44 {
		t.Errorf("sda1: %+v", c)
	}
	if len(got) != 3 {
		t.Errorf("%d devices, want 3", len(got))
	}
}

func FuzzDiskstats(f *testing.F) {
	f.Add([]byte(diskstatsText))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name := range Diskstats(data) {
			if name == "" || strings.ContainsAny(name, " \t\n") {
				t.Errorf("a device %q", name)
			}
		}
	})
}

func FuzzUptime(f *testing.F) {
	f.Add([]byte("12.5 30.1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, known := Uptime(data); known && !(s >= 0) {
			t.Errorf("up for %v s", s)
		}
	})
}
