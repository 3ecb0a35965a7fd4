package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
	"plumb/internal/view/metrics/naming"
)

// stale is the value that tells a receiver that a series ended: a NaN of its
// own, as the specification of remote write has it.
var stale = math.Float64frombits(0x7ff0000000000002)

// Remote makes requests of remote write 1.0 of what an exporter knows. It is
// used by one goroutine.
type Remote struct {
	e      *Exporter
	common []naming.Label // of every series
	had    map[string][]naming.Label
}

// Remote makes one whose series all have these labels besides their own, such
// as the name of the host.
func (e *Exporter) Remote(labels map[string]string) *Remote {
	r := &Remote{e: e, had: map[string][]naming.Label{}}
	for name, value := range labels {
		r.common = append(r.common, label(name, naming.Clean(value)))
	}
	return r
}

// Request gives the body of a request with every series as it is now, and the
// number of samples in it. A series that is no more is ended.
func (r *Remote) Request(at time.Time) (body []byte, samples int) {
	var raw []byte
	now := map[string][]naming.Label{}
	for _, f := range r.e.collect() {
		for _, s := range f.samples {
			labels := r.full(f.name, s.labels)
			key := keyOf(labels)
			now[key] = labels
			raw = appendSeries(raw, labels, s.value, at)
		}
	}
	samples = len(now)
	for key, labels := range r.had {
		if now[key] == nil {
			raw = appendSeries(raw, labels, stale, at)
			samples++
		}
	}
	r.had = now
	return snappy.Encode(nil, raw), samples
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

// appendSeries adds a TimeSeries with one sample to a WriteRequest; the numbers
// are those of the fields in prompb.
func appendSeries(to []byte, labels []naming.Label, value float64, at time.Time) []byte {
	var one []byte
	for _, l := range labels {
		var pair []byte
		pair = protowire.AppendString(protowire.AppendTag(pair, 1, protowire.BytesType), l.Name)
		pair = protowire.AppendString(protowire.AppendTag(pair, 2, protowire.BytesType), l.Value)
		one = protowire.AppendBytes(protowire.AppendTag(one, 1, protowire.BytesType), pair)
	}
	var s []byte
	s = protowire.AppendFixed64(protowire.AppendTag(s, 1, protowire.Fixed64Type), math.Float64bits(value))
	s = protowire.AppendVarint(protowire.AppendTag(s, 2, protowire.VarintType), uint64(at.UnixMilli()))
	one = protowire.AppendBytes(protowire.AppendTag(one, 2, protowire.BytesType), s)
	return protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), one)
}

// GoodLabel tells whether a name can be a label's.
func GoodLabel(name string) bool {
	if name == "" || strings.HasPrefix(name, "__") || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
