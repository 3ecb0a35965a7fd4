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
	second    map[stack.Ref][]second // the newest thirty
	best      map[stack.Ref]*best
	ratios    map[stack.Ref][]ratio // of the last 30 s
	baselines map[baselineKey]*Baseline
	disks     map[string]string  // by the name of a device, which disk it is, where that is known
	loaded    map[stack.Ref]bool // those that a verdict is raised about: nothing is learned of them
}

// baselineKey has both the name of the device and the identity of the disk: another disk may get the same name, and some disks
// have the same identity as others.
type baselineKey struct {
	device, disk, op string
	class            int
}

func (d *devices) key(device, op string, class int) baselineKey {
	return baselineKey{device, d.disks[device], op, class}
}

// meet notes which disk each device is, and drops what was seen of another disk under the same name.
func (d *devices) meet(s *stack.Stack) {
	now := map[string]string{}
	for _, b := range s.OfKind("block") {
		was, disk := d.disks[b.Ref.Name], b.Text("wwid")
		if _, told := b.Facts["wwid"]; !told { // it could not be read this time
			disk = was
		}
		if now[b.Ref.Name] = disk; was != "" && was != disk {
			d.drop(b.Ref)
		}
	}
	d.disks = now
}

// drop forgets what was seen of a device lately. What was learned of it stays.
func (d *devices) drop(of stack.Ref) {
	delete(d.last, of)
	delete(d.second, of)
	delete(d.best, of)
	delete(d.ratios, of)
}

// counters are those of a device at one moment.
type counters struct {
	at     time.Time
	values map[string]float64
}

// second is what a device did between two readings, about a second apart; reads are part of iops.
type second struct {
	at                        time.Time // its end
	over                      time.Duration
	iops, reads, bytes, queue float64 // a second
}

func newDevices() devices {
	d := devices{baselines: map[baselineKey]*Baseline{}, loaded: map[stack.Ref]bool{}}
	d.anew()
	return d
}

// anew forgets all but the baselines.
func (d *devices) anew() {
	d.last, d.second, d.best, d.ratios = map[stack.Ref]counters{}, map[stack.Ref][]second{}, map[stack.Ref]*best{}, map[stack.Ref][]ratio{}
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

// mostSeconds is how many seconds are kept of a device. Processes are read every ten seconds, so that the newest two readings
// of one are at most twenty seconds old.
const mostSeconds = 30

// moved is how many bytes a second a device moved between two moments; not known unless at least four fifths of that time were seen.
func (d *devices) moved(of stack.Ref, from, to time.Time) (float64, bool) {
	var seen []second
	var over time.Duration
	for _, s := range d.second[of] {
		if s.at.After(from) && !s.at.After(to) {
			seen, over = append(seen, s), over+s.over
		}
	}
	return meanOf(seen, func(s second) float64 { return s.bytes }), over > 0 && over.Seconds() >= 0.8*to.Sub(from).Seconds()
}

// forgetGone drops what was seen of devices that are not there any more, and not what was learned of them.
func (d *devices) forgetGone(before time.Time) {
	for of, last := range d.last {
		if last.at.Before(before) {
			d.drop(of)
		}
	}
}

// ratio is the response ratio of one window.
type ratio struct {
	to    time.Time
	value float64
}

// ratio keeps the response ratio of a window, and gives the largest of the last 30 s; not known if the device was loaded in one
// of these windows and its ratio is unknown.
func (d *devices) ratio(of stack.Ref, to time.Time, t *stack.Thing) (most float64, known bool) {
	f, told := t.Facts["response_ratio"]
	v, isNumber := f.Value.Number()
	switch {
	case told && isNumber:
		d.ratios[of] = append(d.ratios[of], ratio{to, v})
	case !told:
		d.ratios[of] = append(d.ratios[of], ratio{to, math.NaN()})
	}
	d.ratios[of] = slices.DeleteFunc(d.ratios[of], func(r ratio) bool { return r.to.Before(to.Add(-sampled)) })
	for _, r := range d.ratios[of] {
		if math.IsNaN(r.value) {
			return 0, false
		}
		most = max(most, r.value)
	}
	return most, len(d.ratios[of]) > 0
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
	x := second{is.at, dt, (by("reads") + by("writes")) / s, by("reads") / s, (by("read_bytes") + by("written_bytes")) / s, by("queue_ms") / 1000 / s}
	if math.IsNaN(x.iops + x.queue) {
		return
	}
	d.second[of] = append(d.second[of], x)
	if n := len(d.second[of]); n > mostSeconds {
		d.second[of] = slices.Clone(d.second[of][n-mostSeconds:])
	}
	if d.best[of] == nil {
		d.best[of] = &best{}
	}
	d.best[of].add(x)
	if x.queue > 0 && x.queue <= 1 && !bursts(x.queue, by("busy_ms")/1000/s) && !d.loaded[of] {
		d.learn(of, is.at, by)
	}
}

// mostAtATime is how many requests are under way at most while a device works, on average, in a
// second that counts as one without load. ZFS writes out a group with two at a time where little is dirty and with ten
// where much is (zfs_vdev_async_write_min_active, _max_active): a second of ten in a tenth of it has one on average,
// and each of them waits for nine others.
const mostAtATime = 2.5

// bursts tells whether the requests of a second came at once. busy is the share of the time in which the device worked, NaN if
// that is not counted. The kernel counts it by clock ticks, so that it is right only on average.
func bursts(queue, busy float64) bool { return busy >= 0 && queue > mostAtATime*busy }

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
		k := d.key(of.Name, o.op, 0)
		if o.bytes != "" {
			k.class = sizeClass(by(o.bytes) / n)
		}
		if d.baselines[k] == nil {
			if len(d.baselines) >= mostBaselines {
				continue
			}
			d.baselines[k] = &Baseline{Device: k.device, Disk: k.disk, Op: k.op, Class: k.class, Hour: at.Unix() / 3600}
		}
		d.baselines[k].add(at, ms*1000/n)
	}
}

// mostBaselines bounds what a host with very many devices costs.
const mostBaselines = 2000

// unloaded gives R0 of a kind of request, in µs: that of its own size class, or of a neighbouring one. Between two classes that
// were learned it interpolates on a line. That is right for a mixture of the two, however long each takes, because the mean time
// and the mean size of a mixture lie on that line.
func (d *devices) unloaded(device, op string, size float64) (float64, bool) {
	learned := func(class int) (float64, bool) {
		b := d.baselines[d.key(device, op, class)]
		if b == nil {
			return 0, false
		}
		return b.unloaded()
	}
	nearest := func(class, step int) (int, float64, bool) {
		for ; class >= 0 && class <= mostClass; class += step {
			if us, ok := learned(class); ok {
				return class, us, true
			}
		}
		return 0, 0, false
	}
	class := sizeClass(size)
	for _, c := range []int{class, class - 1, class + 1} {
		if us, ok := learned(c); ok {
			return us, true
		}
	}
	low, under, ok := nearest(class, -1)
	high, over, ok2 := nearest(class, 1)
	if !ok || !ok2 {
		return 0, false
	}
	return under + (over-under)*(size-sizeOf(low))/(sizeOf(high)-sizeOf(low)), true
}

// growth is how much slower unloaded requests of a device have become.
func (d *devices) growth(device string) (most float64) {
	for k, b := range d.baselines {
		if k.device == device && k.disk == d.disks[device] {
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
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Disk, b.Disk), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// Learned gives a judge the baselines of an earlier run. They replace those of the same kinds that it has learned itself.
func (j *Judge) Learned(all []Baseline) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range all[:min(len(all), mostBaselines)] {
		c := b
		c.Times.Bins, c.Lately.Bins = maps.Clone(b.Times.Bins), maps.Clone(b.Lately.Bins)
		j.devices.baselines[baselineKey{b.Device, b.Disk, b.Op, b.Class}] = &c
	}
}
