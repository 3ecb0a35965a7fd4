package block

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// Counters are the fields of one line of /proc/diskstats that Plumb uses,
// counted since the device appeared. Times are in milliseconds and are kept by
// the kernel in 32 bits: they wrap, which a single reading cannot see.
type Counters struct {
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

const diskstats = "/proc/diskstats"

func readStats(ctx context.Context, h host.Reader, obs *stack.Observation) map[string]Counters {
	data, err := h.ReadFile(ctx, diskstats)
	if err != nil {
		obs.Gap(stack.Ref{}, err.Error(), "")
		return nil
	}
	return ParseDiskstats(data)
}

// ParseDiskstats reads /proc/diskstats (Documentation/admin-guide/iostats.rst)
// into counters by device name. Lines it does not understand are left out.
func ParseDiskstats(data []byte) map[string]Counters {
	all := map[string]Counters{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
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
		c := Counters{Reads: n[0], ReadMillis: n[3], Writes: n[4], WriteMillis: n[7], InFlight: n[8], BusyMillis: n[9], QueueMillis: n[10]}
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

// enough requests for an average to mean anything.
const enough = 1000

// wraps is when a 32-bit count of milliseconds may have wrapped: half its
// range. A counter that has wrapped and started again below is not noticed;
// the averages say in their description that they are of a lifetime.
const wraps = math.MaxUint32 / 2

// set records the counters and lifetime averages. An average of few requests,
// or of a time that may have wrapped, is none.
func (c Counters) set(t *stack.Thing) {
	t.Set("reads", whole(c.Reads), diskstats)
	t.Set("writes", whole(c.Writes), diskstats)
	t.Set("in_flight", whole(c.InFlight), diskstats)
	average(t, "read_ms_lifetime", c.ReadMillis, c.Reads)
	average(t, "write_ms_lifetime", c.WriteMillis, c.Writes)
	if !c.HasFlushes {
		t.SetAbsent("flushes", diskstats)
		t.SetAbsent("flush_ms_lifetime", diskstats)
		return
	}
	t.Set("flushes", whole(c.Flushes), diskstats)
	average(t, "flush_ms_lifetime", c.FlushMillis, c.Flushes)
}

func whole(n uint64) stack.Value { return stack.Int(int64(min(n, math.MaxInt64))) }

func average(t *stack.Thing, fact string, millis, requests uint64) {
	if requests < enough || millis > wraps {
		t.SetAbsent(fact, diskstats)
		return
	}
	t.Set(fact, stack.Float(float64(millis)/float64(requests)), diskstats)
}
