package proc

import (
	"strconv"
	"strings"
)

// Disk is the fields of one line of /proc/diskstats that Plumb uses,
// counted since the device appeared. Times are in milliseconds and are kept by
// the kernel in 32 bits: they wrap, which a single reading cannot see.
type Disk struct {
	Reads, ReadMillis       uint64
	Writes, WriteMillis     uint64
	ReadBytes, WrittenBytes uint64
	InFlight                uint64
	Discards                uint64
	HasDiscards             bool // Linux 4.18 and later
	Flushes                 uint64
	FlushMillis             uint64
	HasFlushes              bool // Linux 5.5 and later
	BusyMillis              uint64
	QueueMillis             uint64 // of every request together
}

// Diskstats reads /proc/diskstats (Documentation/admin-guide/iostats.rst)
// into counters by device name. Lines it does not understand are left out.
func Diskstats(data []byte) map[string]Disk {
	all := map[string]Disk{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 14 {
			continue
		}
		n := make([]uint64, len(f)-3)
		bad := false
		for i, s := range f[3:] {
			v, err := strconv.ParseUint(s, 10, 64)
			n[i], bad = v, bad || err != nil
		}
		if bad {
			continue
		}
		c := Disk{Reads: n[0], ReadMillis: n[3], Writes: n[4], WriteMillis: n[7], InFlight: n[8], BusyMillis: n[9], QueueMillis: n[10]}
		// In sectors of 512 bytes, whatever the device has.
		c.ReadBytes, c.WrittenBytes = n[2]*512, n[6]*512
		if len(n) >= 15 {
			c.Discards, c.HasDiscards = n[11], true
		}
		if len(n) >= 17 {
			c.Flushes, c.FlushMillis, c.HasFlushes = n[15], n[16], true
		}
		all[f[2]] = c
	}
	return all
}
