package metrics

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/view/metrics/naming"
)

// stale is the value that tells a receiver that a series ended: a NaN of its
// own, as the specification of remote write has it.
var stale = math.Float64frombits(0x7ff0000000000002)

// Remote makes requests of remote write of what an exporter knows. It is used
// by one goroutine.
type Remote struct {
	e      *Exporter
	common []naming.Label // of every series
	had    map[string]line
}

// Remote makes one whose series all have these labels besides their own, such
// as the name of the host.
func (e *Exporter) Remote(labels map[string]string) *Remote {
	r := &Remote{e: e, had: map[string]line{}}
	for name, value := range labels {
		r.common = append(r.common, label(name, naming.Clean(value)))
	}
	return r
}

// Request gives a request with every series as it is now, and the number of
// samples in it. A series that is no more is ended.
func (r *Remote) Request(at time.Time) (q Request, samples int) {
	q = Request{at: at}
	now := map[string]line{}
	for _, f := range r.e.collect() {
		for _, s := range f.samples {
			l := line{labels: r.full(f.name, s.labels), kind: f.kind, help: f.help, value: s.value}
			key := keyOf(l.labels)
			if had, known := r.had[key]; known {
				l.labels = had.labels // what waits to be sent shares them
			} else {
				q.bytes += len(key)
			}
			now[key] = l
			q.lines = append(q.lines, l)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.had)) {
		if _, still := now[key]; !still {
			l := r.had[key]
			l.value = stale
			q.lines = append(q.lines, l)
		}
	}
	r.had = now
	return q, len(q.lines)
}

// full gives all labels of a sample, the name among them, as they have to be:
// sorted, and none of them empty.
func (r *Remote) full(name string, own []naming.Label) []naming.Label {
	all := []naming.Label{label("__name__", name)}
	for _, l := range append(slices.Clone(own), r.common...) {
		if l.Value != "" && !slices.ContainsFunc(all, func(had naming.Label) bool { return had.Name == l.Name }) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b naming.Label) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// GoodLabel tells whether a name can be a label's.
func GoodLabel(name string) bool {
	if name == "" || strings.HasPrefix(name, "__") || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
