package block

import (
	"context"
	"math"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

const diskstats = "/proc/diskstats"

func readStats(ctx context.Context, h host.Reader, obs *stack.Observation) map[string]proc.Disk {
	data, err := h.ReadFile(ctx, diskstats)
	if err != nil {
		obs.Gap(stack.Ref{}, err.Error(), "")
		return nil
	}
	return proc.Diskstats(data)
}

// enough requests for an average to mean anything.
const enough = 1000

// wraps is when a 32-bit count of milliseconds may have wrapped: half its
// range. A counter that has wrapped and started again below is not noticed;
// the averages say in their description that they are of a lifetime.
const wraps = math.MaxUint32 / 2

// setCounters records the counters and lifetime averages. An average of few requests,
// or of a time that may have wrapped, is none.
func setCounters(t *stack.Thing, c proc.Disk) {
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
