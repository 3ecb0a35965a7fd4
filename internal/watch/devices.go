package watch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// devices is what is known of block devices over time.
type devices struct {
	last      map[stack.Ref]counters
	second    map[stack.Ref][]second // the newest seventy
	baselines map[baselineKey]*Baseline
	loaded    map[stack.Ref]bool // those that a verdict is raised about: nothing is learned of them
}

type baselineKey struct {
	device, op string
	class      int
}

// counters are those of a device at one moment.
type counters struct {
	at     time.Time
	values map[string]float64
}

// second is what a device did in one.
type second struct {
	at                 time.Time
	iops, bytes, queue float64
}

func newDevices() devices {
	d := devices{baselines: map[baselineKey]*Baseline{}, loaded: map[stack.Ref]bool{}}
	d.anew()
	return d
}

// anew forgets all but the baselines.
func (d *devices) anew() {
	d.last, d.second = map[stack.Ref]counters{}, map[stack.Ref][]second{}
}

// take learns from one batch.
func (d *devices) take(b series.Batch) {
	now := map[stack.Ref]counters{}
	for _, r := range b.Readings {
		if r.Of.Kind != "block" {
			continue
		}
		c, seen := now[r.Of]
		if !seen {
			c = counters{b.At, map[string]float64{}}
			now[r.Of] = c
		}
		c.values[r.Name] = r.Value
	}
	for of, c := range now {
		if _, counts := c.values["queue_ms"]; !counts {
			continue
		}
		if was, ok := d.last[of]; ok {
			d.compare(of, was, c)
		}
		d.last[of] = c
	}
}

// furthest is how far apart two readings may be that stand for a second.
const furthest = 2500 * time.Millisecond

// compare learns from two readings of a device.
func (d *devices) compare(of stack.Ref, was, is counters) {
	dt := is.at.Sub(was.at)
	if dt <= 0 || dt > furthest {
		return
	}
	by := func(name string) float64 {
		v, ok := is.values[name]
		w, ok2 := was.values[name]
		if !ok || !ok2 || v < w {
			return math.NaN()
		}
		return v - w
	}
	s := dt.Seconds()
	x := second{is.at, (by("reads") + by("writes")) / s, (by("read_bytes") + by("written_bytes")) / s, by("queue_ms") / 1000 / s}
	if math.IsNaN(x.iops + x.queue) {
		return
	}
	d.second[of] = append(d.second[of], x)
	if n := len(d.second[of]); n > 70 {
		d.second[of] = slices.Clone(d.second[of][n-70:])
	}
	if x.queue > 0 && x.queue <= 1 && !d.loaded[of] {
		d.learn(of, is.at, by)
	}
}

// How many requests, and how long together, tell a response time: /proc/diskstats
// counts whole milliseconds.
const (
	leastRequests = 30.0
	leastFlushes  = 5.0
	leastMillis   = 20.0
)

// ops are the kinds of requests, and their counters.
var ops = []struct{ op, number, millis, bytes, response, unloaded string }{
	{"read", "reads", "read_ms", "read_bytes", "read_response", "read_unloaded"},
	{"write", "writes", "write_ms", "written_bytes", "write_response", "write_unloaded"},
	{"flush", "flushes", "flush_ms", "", "flush_response", "flush_unloaded"},
}

// learn adds a second in which the device had nothing else to do.
func (d *devices) learn(of stack.Ref, at time.Time, by func(string) float64) {
	reads, writes := by("reads"), by("writes")
	for _, o := range ops {
		n, ms := by(o.number), by(o.millis)
		least, mixed := leastRequests, n < 0.8*(reads+writes)
		if o.op == "flush" {
			least, mixed = leastFlushes, false
		}
		if math.IsNaN(n+ms) || n < least || ms < leastMillis || mixed {
			continue
		}
		k := baselineKey{of.Name, o.op, 0}
		if o.bytes != "" {
			k.class = sizeClass(by(o.bytes) / n)
		}
		if d.baselines[k] == nil {
			if len(d.baselines) >= mostBaselines {
				continue
			}
			d.baselines[k] = &Baseline{Device: k.device, Op: k.op, Class: k.class, Hour: at.Unix() / 3600}
		}
		d.baselines[k].add(at, ms*1000/n)
	}
}

// mostBaselines bounds what a host with very many devices costs.
const mostBaselines = 2000

// unloaded gives R0 of a kind of request, of its own size or the next one.
func (d *devices) unloaded(device, op string, class int) (float64, bool) {
	for _, c := range []int{class, class - 1, class + 1} {
		if b := d.baselines[baselineKey{device, op, c}]; b != nil {
			if v, ok := b.unloaded(); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// growth is how much slower unloaded requests of a device have become.
func (d *devices) growth(device string) (most float64) {
	for k, b := range d.baselines {
		if k.device == device {
			most = max(most, b.Growth)
		}
	}
	return most
}

// Baselines gives what was learned of the devices, to be kept.
func (j *Judge) Baselines() []Baseline {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Baseline
	for _, b := range j.devices.baselines {
		c := *b
		c.Times.Bins, c.Lately.Bins = maps.Clone(b.Times.Bins), maps.Clone(b.Lately.Bins)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Baseline) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// Learned gives a judge what was learned before. What it has learned itself
// since is replaced.
func (j *Judge) Learned(all []Baseline) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range all[:min(len(all), mostBaselines)] {
		c := b
		c.Times.Bins, c.Lately.Bins = maps.Clone(b.Times.Bins), maps.Clone(b.Lately.Bins)
		j.devices.baselines[baselineKey{b.Device, b.Op, b.Class}] = &c
	}
}
