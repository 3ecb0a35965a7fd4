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
	pinnedFor    = 7 * time.Second // so that with two more windows, a second until it settles, one until it is known and one that was not seen, it is 25 s
	pinnedJitter = time.Second / 2 // by which what was seen may be shorter: not all is read in the same part of a second
	pinnedAstray = 0.1             // seconds' worth
	leastIOPS    = 20.0
	leastBytes   = 1 << 20
)

// pinned sets whether a device has kept to one number of requests or bytes, and
// how much more it has done before.
func (j *Judge) pinned(w *judged, d *stack.Thing) {
	last := newestFor(j.devices.second[d.Ref], w.to, pinnedFor-pinnedJitter)
	if len(last) == 0 {
		return
	}
	held := false
	for _, x := range []struct {
		name  string
		of    func(second) float64
		least float64
	}{
		{"iops_pinned", func(s second) float64 { return s.iops }, leastIOPS},
		{"bytes_pinned", func(s second) float64 { return s.bytes }, leastBytes},
	} {
		pinned := 0.0
		if straight(last, x.of, x.least) {
			pinned, held = 1, true
		}
		j.set(d, x.name, pinned)
	}
	if !held {
		d.SetAbsent("did_before", "/proc/diskstats")
		return
	}
	now := average(last)
	if now.bytes > 0 {
		j.set(d, "did_before", j.devices.best[d.Ref].times(now))
	}
}

// newestFor gives the newest seconds, as many as it takes to see so long; none where some of that time was not seen, or
// where nothing was seen lately. A second that could not be read is in the next one, which then is of two.
func newestFor(all []second, to time.Time, long time.Duration) []second {
	var over time.Duration
	for i := len(all) - 1; i >= 0; i-- {
		next := to
		if i < len(all)-1 {
			next = all[i+1].at.Add(-all[i+1].over)
		}
		if gap := next.Sub(all[i].at); gap > 0 && (i < len(all)-1 || gap > furthest) {
			return nil
		}
		if over += all[i].over; over >= long {
			return all[i:]
		}
	}
	return nil
}

// average is what a device did in some seconds on average.
func average(all []second) second {
	mean := func(of func(second) float64) float64 { return meanOf(all, of) }
	return second{iops: mean(func(s second) float64 { return s.iops }), bytes: mean(func(s second) float64 { return s.bytes }),
		reads: mean(func(s second) float64 { return s.reads }), queue: mean(func(s second) float64 { return s.queue })}
}

// shortest is the least time that tells a rate. What was read late is followed by less than a second, and of a tenth's
// worth at once that shows too much.
const shortest = time.Second / 2

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
	if !(x.iops > 0 && x.bytes > 0) || x.over < shortest {
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

// straight tells whether what is counted keeps to a line. A rate counts for as long as it was seen: one of a fifth of a
// second is off by half where a tenth's worth came at once, and its sum is not.
func straight(all []second, of func(second) float64, least float64) bool {
	m := meanOf(all, of)
	if math.IsNaN(m) || m < least {
		return false
	}
	astray := 0.0
	for _, s := range all {
		if astray += (of(s) - m) * s.over.Seconds(); math.Abs(astray) > pinnedAstray*m {
			return false
		}
	}
	return true
}

// meanOf is the mean over the time that was seen.
func meanOf(all []second, of func(second) float64) float64 {
	sum, over := 0.0, 0.0
	for _, s := range all {
		sum, over = sum+of(s)*s.over.Seconds(), over+s.over.Seconds()
	}
	return sum / over
}
