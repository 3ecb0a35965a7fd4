package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stats"
	"plumb/internal/zfs"
)

// Window is what was read in one interval.
type Window struct {
	Seconds float64  `json:"seconds"`
	Reads   int64    `json:"reads"`             // of the ARC
	Misses  int64    `json:"misses"`            // of them, not served from it
	Served  int64    `json:"served"`            // of those, by the cache devices
	Fed     int64    `json:"fed"`               // bytes written to the cache devices
	Durable *Durable `json:"durable,omitempty"` // nil: nothing was written
	Blind   bool     `json:"blind,omitempty"`   // there are no counters
}

// Look reads the counters n times and one, and gives the windows between. In a directory, if one is named, it times durable
// writes meanwhile; with that, the counters may be missing.
func Look(ctx context.Context, h host.Reader, n int, every time.Duration, dir string) (all []Window, err error) {
	last, err := glance(ctx, h)
	if err != nil && dir == "" {
		return nil, hint.With(fmt.Errorf("read the counters of the ARC: %w", err), "only OpenZFS has them, and only while its module is loaded; --fsync DIR judges a log device without them")
	}
	counted := err == nil
	for range n {
		durable, err := spend(ctx, every, dir)
		if err != nil {
			return all, err
		}
		now := look{at: time.Now()}
		if counted {
			if now, err = glance(ctx, h); err != nil {
				return all, fmt.Errorf("read the counters of the ARC: %w", err)
			}
		}
		w, err := between(last, now)
		if err != nil {
			return all, err
		}
		w.Durable = durable
		all, last = append(all, w), now
	}
	return all, nil
}

// look is the counters at a moment; nil where there are none.
type look struct {
	at       time.Time
	counters map[string]int64
}

func glance(ctx context.Context, h host.Reader) (look, error) {
	text, err := h.ReadFile(ctx, zfs.ARCStats)
	if err != nil {
		return look{at: time.Now()}, err
	}
	return look{time.Now(), zfs.ParseKstat(text)}, nil
}

// spend lets a window go by, with writing or without.
func spend(ctx context.Context, d time.Duration, dir string) (*Durable, error) {
	if dir != "" {
		return Write(ctx, dir, d)
	}
	return nil, await.Pause(ctx, d)
}

func between(a, b look) (Window, error) {
	w := Window{Seconds: b.at.Sub(a.at).Seconds()}
	if a.counters == nil {
		w.Blind = true
		return w, nil
	}
	for _, c := range []struct {
		into *int64
		of   []string
	}{{&w.Reads, []string{"hits", "misses"}}, {&w.Misses, []string{"misses"}}, {&w.Served, []string{"l2_hits"}}, {&w.Fed, []string{"l2_write_bytes"}}} {
		for _, name := range c.of {
			before, known := a.counters[name]
			after, still := b.counters[name]
			switch {
			case !known || !still:
				return w, fmt.Errorf("%s has no %s", zfs.ARCStats, name)
			case after < before:
				return w, errors.New("the counters were reset meanwhile: the module was loaded again")
			}
			*c.into += after - before
		}
	}
	return w, nil
}

// Figures are shares of several windows, with their intervals. One with N 0 is not known: nothing was read, or written.
type Figures struct {
	Disk    stats.Estimate // of all reads, those that went to the data disks
	Cache   stats.Estimate // of what missed the ARC, what the cache devices served
	Fed     stats.Estimate // bytes a second
	Durable stats.Estimate // seconds that half of the durable writes took at most
}

// Measure gives the figures of windows.
func Measure(all []Window) Figures {
	var disk, cache, fed, durable []float64
	for _, w := range all {
		if w.Durable != nil {
			durable = append(durable, w.Durable.Median)
		}
		if w.Reads > 0 {
			disk = append(disk, float64(w.Misses-w.Served)/float64(w.Reads))
		}
		if w.Misses > 0 {
			cache = append(cache, float64(w.Served)/float64(w.Misses))
		}
		if w.Seconds > 0 && !w.Blind {
			fed = append(fed, float64(w.Fed)/w.Seconds)
		}
	}
	return Figures{stats.Mean(disk), stats.Mean(cache), stats.Mean(fed), stats.Mean(durable)}
}

// Moved is the difference of a figure between two times, with its interval: the part of all reads that left the disks is
// negative. The two are independent of one another.
func Moved(before, after stats.Estimate) (e stats.Estimate, known bool) {
	known = before.N > 1 && after.N > 1
	half := math.Hypot((before.High-before.Low)/2, (after.High-after.Low)/2)
	e = stats.Estimate{Value: after.Value - before.Value, N: min(before.N, after.N)}
	e.Low, e.High = e.Value-half, e.Value+half
	return e, known && !math.IsNaN(half) && !math.IsInf(half, 0)
}

// Size is what the cache devices hold, in bytes on them.
func Size(ctx context.Context, h host.Reader) (int64, error) {
	text, err := h.ReadFile(ctx, zfs.ARCStats)
	if err != nil {
		return 0, fmt.Errorf("read what the cache devices hold: %w", err)
	}
	n, known := zfs.ParseKstat(text)["l2_asize"]
	if !known {
		return 0, fmt.Errorf("%s has no l2_asize", zfs.ARCStats)
	}
	return n, nil
}
