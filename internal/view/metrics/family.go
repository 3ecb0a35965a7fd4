package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// sample is one value with its labels, which are sorted by name.
type sample struct {
	key    string // the labels as one text
	labels []label
	value  float64
}

// family is all samples of one name.
type family struct {
	name, help string
	counter    bool
	samples    []sample
}

// families are collected here. A sample that is there already is kept as it is.
type families struct {
	byName map[string]*family
	had    map[string]bool
	series int
}

func newFamilies() *families {
	return &families{byName: map[string]*family{}, had: map[string]bool{}}
}

// gauge adds a value that stands for its moment.
func (fs *families) gauge(name, help string, value float64, labels ...label) {
	fs.add(shape{name: name, help: help, scale: 1}, value, labels)
}

// counter adds a value that only grows.
func (fs *families) counter(name, help string, value float64, labels ...label) {
	fs.add(shape{name: name, help: help, counter: true, scale: 1}, value, labels)
}

func (fs *families) add(s shape, value float64, labels []label) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return // no number: not known
	}
	if byName := func(a, b label) int { return cmp.Compare(a.name, b.name) }; !slices.IsSortedFunc(labels, byName) {
		labels = slices.SortedFunc(slices.Values(labels), byName) // it may be somebody else's slice
	}
	key := keyOf(labels)
	if fs.had[s.name+key] {
		return
	}
	fs.had[s.name+key] = true
	f := fs.byName[s.name]
	if f == nil {
		f = &family{name: s.name, help: s.help, counter: s.counter}
		fs.byName[s.name] = f
	}
	f.samples = append(f.samples, sample{key, labels, value * s.scale})
	fs.series++
}

// keyOf is the labels as one text. Values hold no control characters.
func keyOf(labels []label) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString("\x00" + l.name + "\x01" + l.value)
	}
	return b.String()
}

// sorted gives the families by name, and their samples by labels.
func (fs *families) sorted() []*family {
	all := make([]*family, 0, len(fs.byName))
	for _, f := range fs.byName {
		slices.SortFunc(f.samples, func(a, b sample) int { return cmp.Compare(a.key, b.key) })
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *family) int { return cmp.Compare(a.name, b.name) })
	return all
}

// message is the family in the form of client_golang.
func (f *family) message() *dto.MetricFamily {
	kind := dto.MetricType_GAUGE
	if f.counter {
		kind = dto.MetricType_COUNTER
	}
	out := &dto.MetricFamily{Name: proto.String(f.name), Help: proto.String(f.help), Type: &kind, Metric: make([]*dto.Metric, 0, len(f.samples))}
	for _, s := range f.samples {
		m := &dto.Metric{}
		for _, l := range s.labels {
			m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(l.name), Value: proto.String(l.value)})
		}
		if f.counter {
			m.Counter = &dto.Counter{Value: proto.Float64(s.value)}
		} else {
			m.Gauge = &dto.Gauge{Value: proto.Float64(s.value)}
		}
		out.Metric = append(out.Metric, m)
	}
	return out
}
