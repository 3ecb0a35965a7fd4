package watch

import (
	"maps"
	"math"
	"time"
)

// Baseline is how long one kind of request takes on a device that has nothing else to do: a histogram of response
// times. It is a plain value, so that a recording can keep it over a restart.
type Baseline struct {
	Device string  `json:"device"`
	Disk   string  `json:"disk,omitempty"` // which one, where it is known
	Op     string  `json:"op"`             // read, write, flush
	Class  int     `json:"size"`           // 4 KiB times two to the power of this, up to 256 KiB and more; 0 for flushes
	Times  Times   `json:"times"`
	Lately Times   `json:"lately"` // of the hour that is not over
	Growth float64 `json:"growth"` // of the last whole hour against Times; 0: not known
	Hour   int64   `json:"hour"`   // of Lately, in hours since 1970
}

// Times is a histogram of response times.
type Times struct {
	Bins map[int]float64 `json:"bins"` // number of seconds in which they were within 5 % of 1.05 to that power, in µs
}

// What a baseline is made of.
const (
	halfLife   = 7 * 24 * time.Hour
	quantile   = 0.2 // not the least, which is the device's cache; not the mean, which is load
	leastTimes = 30  // seconds
	binWidth   = 1.05
	slower     = 1.5 // growth in an hour that is not learned: a device that becomes slower must not hide it
	mostBins   = 400
)

func (t *Times) count() (n float64) {
	for i := 0; i <= mostBins; i++ { // in one order, so that the sum is always the same
		n += t.Bins[i]
	}
	return n
}

func (t *Times) add(us float64) {
	if t.Bins == nil {
		t.Bins = map[int]float64{}
	}
	i := min(max(int(math.Floor(math.Log(us)/math.Log(binWidth))), 0), mostBins)
	t.Bins[i]++
}

// unloaded is the response time in µs; not known with too few.
func (t *Times) unloaded() (float64, bool) {
	n := t.count()
	if n < leastTimes {
		return 0, false
	}
	sum := 0.0
	for i := 0; i <= mostBins; i++ {
		if sum += t.Bins[i]; sum >= quantile*n {
			return math.Pow(binWidth, float64(i)+0.5), true
		}
	}
	return 0, false
}

// add notes the mean response time of one second, in µs. An hour is added to what was learned when it is over, unless it
// was half as slow again as everything before.
func (b *Baseline) add(at time.Time, us float64) {
	if hour := at.Unix() / 3600; hour != b.Hour {
		b.turn(hour)
	}
	b.Lately.add(us)
}

func (b *Baseline) turn(hour int64) {
	if was, ok := b.Times.unloaded(); ok {
		b.Growth = 0
		if is, ok := b.Lately.unloaded(); ok {
			b.Growth = is / was
		}
	}
	fade := math.Exp2(-float64(max(hour-b.Hour, 0)) * time.Hour.Hours() / halfLife.Hours())
	merged := map[int]float64{}
	for i, n := range b.Times.Bins {
		merged[i] = n * fade
	}
	for i, n := range b.Lately.Bins {
		if b.Growth < slower {
			merged[i] += n * fade
		}
	}
	maps.DeleteFunc(merged, func(_ int, n float64) bool { return n < 1e-3 })
	b.Times.Bins = merged
	b.Lately, b.Hour = Times{}, hour
}

// unloaded is R0 in µs: what was learned, or, in the first hour, what was seen.
func (b *Baseline) unloaded() (float64, bool) {
	if v, ok := b.Times.unloaded(); ok {
		return v, true
	}
	return b.Lately.unloaded()
}

// mostClass is that of the largest requests.
const mostClass = 6

// sizeClass is the class of a request's size.
func sizeClass(bytes float64) int {
	if bytes < 1 {
		return 0
	}
	return min(max(int(math.Round(math.Log2(bytes/sizeOf(0)))), 0), mostClass)
}

// sizeOf is the size that a class stands for.
func sizeOf(class int) float64 { return math.Ldexp(4096, class) }

// occupancy inverts ρ = u/(1−e^−u): of a device that serves many requests at a
// time and gets them at random, the load by channel from the response ratio.
func occupancy(ratio float64) float64 {
	if ratio <= 1 {
		return 0
	}
	low, high := 0.0, ratio+1
	for range 60 {
		u := (low + high) / 2
		if u/(1-math.Exp(-u)) < ratio {
			low = u
		} else {
			high = u
		}
	}
	return (low + high) / 2
}
