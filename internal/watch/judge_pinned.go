package watch

import (
	"math"
	"slices"
	"time"

	"plumb/internal/stack"
)

// What is pinned: a device that does something, always the same. Limits let a tenth
// of a second's worth through at once: the Linux kernel's (DFL_THROTL_SLICE in block/blk-throttle.c, HZ/10), QEMU's
// (throttle_compute_wait in util/throttle.c). So what they count over time stays within that of a straight line, while
// what a busy device does in one second says nothing of the next, and the sum strays.
const (
	pinnedSeconds = 8   // so that with two more windows, a second until it settles and one until it is known, it is 25 s
	pinnedAstray  = 0.1 // seconds' worth
	leastIOPS     = 20.0
	leastBytes    = 1 << 20
)

// pinned sets whether a device has kept to one number of requests or bytes, and
// how much more it has done before.
func (j *Judge) pinned(d *stack.Thing) {
	all := j.devices.second[d.Ref]
	if len(all) < pinnedSeconds {
		return
	}
	last := all[len(all)-pinnedSeconds:]
	of := func(f func(second) float64) (out []float64) {
		for _, s := range last {
			out = append(out, f(s))
		}
		return out
	}
	iops, bytes := of(func(s second) float64 { return s.iops }), of(func(s second) float64 { return s.bytes })
	held := false
	for _, x := range []struct {
		name   string
		values []float64
		least  float64
	}{{"iops_pinned", iops, leastIOPS}, {"bytes_pinned", bytes, leastBytes}} {
		pinned := 0.0
		if same(x.values, x.least) {
			pinned, held = 1, true
		}
		j.set(d, x.name, pinned)
	}
	if !held {
		d.SetAbsent("did_before", "/proc/diskstats")
		return
	}
	now := second{iops: mean(iops), bytes: mean(bytes), reads: mean(of(func(s second) float64 { return s.reads })), queue: mean(of(func(s second) float64 { return s.queue }))}
	if now.bytes > 0 {
		j.set(d, "did_before", j.devices.best[d.Ref].times(now))
	}
}

// best is what a device did at most in a second, in each minute of the last hour, by how it was asked.
type best struct{ minutes []bestOf }

type bestOf struct {
	at   time.Time
	most map[manner]second // of each, the second with the most requests
}

// manner is how a device was asked in a second, as far as its speed depends on that: the share of reads in tenths, the class
// of their size, and how many were under way, as a power of two.
type manner struct{ reads, size, queue int }

func (b *best) add(x second) {
	if !(x.iops > 0 && x.bytes > 0) {
		return
	}
	at := x.at.Truncate(time.Minute)
	if n := len(b.minutes); n == 0 || !b.minutes[n-1].at.Equal(at) {
		b.minutes = append(b.minutes, bestOf{at, map[manner]second{}})
		b.minutes = slices.Clone(b.minutes[max(0, len(b.minutes)-60):])
	}
	m := manner{int(10 * x.reads / x.iops), sizeClass(x.bytes / x.iops), int(math.Log2(max(x.queue, 1)))}
	if most := b.minutes[len(b.minutes)-1].most; x.iops >= most[m].iops {
		most[m] = x
	}
}

// A second in which a device was asked for the same as now.
const (
	mixAstray  = 0.25 // of the share of reads
	moreAtOnce = 2.0  // times as many under way: with many more than now a device does more by itself
)

// times is how many times as much as now the device did in a second in which it was asked for the same. It must have
// done more requests and more bytes in that second: of smaller requests a device does more, in larger ones more bytes,
// and nothing was taken away.
func (b *best) times(now second) (most float64) {
	if b == nil {
		return 0
	}
	for _, m := range b.minutes {
		for _, x := range m.most {
			if math.Abs(x.reads/x.iops-now.reads/now.iops) <= mixAstray && x.queue <= moreAtOnce*max(now.queue, 1) {
				most = max(most, min(x.iops/now.iops, x.bytes/now.bytes))
			}
		}
	}
	return most
}

// same tells whether what is counted each second keeps to a line.
func same(values []float64, least float64) bool {
	m := mean(values)
	if math.IsNaN(m) || m < least {
		return false
	}
	astray := 0.0
	for _, v := range values {
		if astray += v - m; math.Abs(astray) > pinnedAstray*m {
			return false
		}
	}
	return true
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
