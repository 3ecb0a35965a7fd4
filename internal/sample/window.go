package sample

import (
	"maps"
	"math"
	"slices"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Values are what a window tells of each thing, by the names of
// [catalog.Windows]. What too few readings were there to tell is not in it.
type Values map[stack.Ref]map[string]float64

// Over makes a window [from, to) of what sources gave, each one's batches in the
// order of time. A source that is asked more often than that is read from the
// last batch before the window to the last one in it; of one that is asked less
// often, its newest batch and the one before it stand for the window, as long
// as they are not old.
func Over(sources map[string][]series.Batch, from, to time.Time, cat *catalog.Catalog) Values {
	out := Values{}
	for _, name := range slices.Sorted(maps.Keys(sources)) { // of two that give the same, the last by name is believed
		w := cut(sources[name], from, to)
		if len(w.in) > 0 {
			w.tell(out, cat)
		}
	}
	return out
}

// How old a batch may be beside the next one, in paces of its source, so that
// both tell of one window.
const (
	oldest = 2.5 // of the one before
	newest = 1.5 // of the only one of a source slower than the window
)

// window is the part of one source's batches that tells of a window.
type window struct {
	base  *series.Batch // before it, where counters are read from; nil where there is none
	in    []series.Batch
	least time.Duration // over which a counter must have been seen
}

// cut takes the batches that tell of [from, to). One that is not later than
// its predecessor begins a new stretch, because the clock was set back.
func cut(batches []series.Batch, from, to time.Time) window {
	for i := len(batches) - 1; i > 0; i-- {
		if !batches[i].At.After(batches[i-1].At) {
			batches = batches[i:]
			break
		}
	}
	first, end := len(batches), 0
	for i, b := range batches {
		if b.At.Before(to) {
			end = i + 1
		}
		if first == len(batches) && !b.At.Before(from) {
			first = i
		}
	}
	if end == 0 {
		return window{}
	}
	every, length := batches[end-1].Every, to.Sub(from)
	if every > length {
		if to.Sub(batches[end-1].At) > paces(every, newest) {
			return window{}
		}
		first = end - 1
	}
	if first >= end {
		return window{}
	}
	w := window{in: batches[first:end], least: min(length, 2*every) / 2}
	if first > 0 && w.in[0].At.Sub(batches[first-1].At) <= paces(every, oldest) {
		w.base = &batches[first-1]
	}
	return w
}

func paces(every time.Duration, n float64) time.Duration {
	return time.Duration(float64(every) * n)
}

// point is one reading at its moment.
type point struct {
	at    time.Time
	value float64
}

// tell adds what the window tells of each series.
func (w window) tell(out Values, cat *catalog.Catalog) {
	points, based := w.points()
	for id, all := range points {
		f := cat.Fact(id.Of.Kind, id.Name)
		if f == nil {
			continue
		}
		set := func(suffix string, v float64) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return
			}
			if out[id.Of] == nil {
				out[id.Of] = map[string]float64{}
			}
			out[id.Of][id.Name+suffix] = v
		}
		switch f.OverTime {
		case stack.Counter:
			if rate, ok := w.rate(all, f, points[series.ID{Of: id.Of, Name: "uptime"}]); ok {
				set(catalog.RateOf, rate)
			}
		case stack.Gauge:
			gauge(all, based[id], set)
		default:
			set("", all[len(all)-1].value)
		}
	}
}

// points collects the readings of each series, and says whether the first is
// of the batch before the window.
func (w window) points() (map[series.ID][]point, map[series.ID]bool) {
	points, based := map[series.ID][]point{}, map[series.ID]bool{}
	add := func(b series.Batch) {
		for _, r := range b.Readings {
			id := series.ID{Of: r.Of, Name: r.Name}
			points[id] = append(points[id], point{b.At, r.Value})
		}
	}
	if w.base != nil {
		add(*w.base)
		for id := range points {
			based[id] = true
		}
	}
	for _, b := range w.in {
		add(b)
	}
	for id, first := range based {
		if first && len(points[id]) == 1 { // the window itself has no reading
			delete(points, id)
		}
	}
	return points, based
}

// rate is what a counter grew by in a second, over those parts of the window
// in which it did not begin anew.
func (w window) rate(all []point, f *catalog.Fact, uptime []point) (float64, bool) {
	var grown float64
	var over time.Duration
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if by, ok := growth(a, b, f); ok && !restarted(uptime, a.at, b.at) {
			grown += by
			over += b.at.Sub(a.at)
		}
	}
	if over <= 0 || over < w.least-w.least/4 {
		return 0, false
	}
	return grown / over.Seconds() * catalog.PerSecond(f.Type), true
}

// Where /proc/diskstats counts milliseconds in 32 bits.
const (
	wrapAt     = 1 << 32
	mostAtOnce = 10_000 // requests under way: more is no wrap but a counter that began anew
)

// growth is what a counter grew by between two readings; not ok when it began
// anew. A 32-bit number of milliseconds that began again goes on.
func growth(a, b point, f *catalog.Fact) (float64, bool) {
	by := b.value - a.value
	if by >= 0 {
		return by, true
	}
	if f.Type != catalog.Millis || a.value >= wrapAt || a.value < wrapAt/2 {
		return 0, false
	}
	by += wrapAt
	return by, by <= float64(b.at.Sub(a.at).Milliseconds())*mostAtOnce
}

// restarted tells whether a thing's uptime fell between two moments: then its
// counters began anew, even those that have come further since.
func restarted(uptime []point, from, to time.Time) bool {
	for i := 1; i < len(uptime); i++ {
		a, b := uptime[i-1], uptime[i]
		if b.value < a.value && a.at.Before(to) && b.at.After(from) {
			return true
		}
	}
	return false
}

// gauge tells the mean, the least, the most and the growth of a gauge. A
// reading from before the window tells of the growth alone.
func gauge(all []point, based bool, set func(suffix string, v float64)) {
	if first, last := all[0], all[len(all)-1]; last.at.After(first.at) {
		set(catalog.GrowthOf, (last.value-first.value)/last.at.Sub(first.at).Seconds())
	}
	if based {
		all = all[1:]
	}
	least, most, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, p := range all {
		least, most, sum = min(least, p.value), max(most, p.value), sum+p.value
	}
	set("", sum/float64(len(all)))
	set(catalog.LeastOf, least)
	set(catalog.MostOf, most)
}
