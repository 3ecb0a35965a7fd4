package self

import (
	"bytes"
	"os"
	"strconv"
)

// Ticks are the processor times of the whole machine since it was booted, in
// the kernel's ticks. The zero value is unknown.
type Ticks struct{ busy, stolen, all uint64 }

// Machine reads the processor times of the whole machine.
func Machine() Ticks {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Ticks{}
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return ParseTicks(line)
}

// ParseTicks reads the line "cpu user nice system idle iowait irq softirq
// steal guest guest_nice". Guest time is also in user time; idle and waiting
// for I/O are not busy.
func ParseTicks(line []byte) (t Ticks) {
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return Ticks{}
	}
	for i, f := range fields[1:9] {
		n, err := strconv.ParseUint(string(f), 10, 64)
		if err != nil {
			return Ticks{}
		}
		t.all += n
		if i != 3 && i != 4 {
			t.busy += n
		}
		if i == 7 {
			t.stolen = n
		}
	}
	return t
}

// Since gives which part of all processor time was used between two readings;
// nil when that is not known.
func (t Ticks) Since(before Ticks) *float64 {
	if t.all <= before.all || before.all == 0 || t.busy < before.busy {
		return nil
	}
	part := float64(t.busy-before.busy) / float64(t.all-before.all)
	return &part
}

// StolenSince gives which part of all processor time the hypervisor gave to
// others between two readings; nil when that is not known.
func (t Ticks) StolenSince(before Ticks) *float64 {
	if t.all <= before.all || before.all == 0 || t.stolen < before.stolen {
		return nil
	}
	part := float64(t.stolen-before.stolen) / float64(t.all-before.all)
	return &part
}
