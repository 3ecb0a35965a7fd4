package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"plumb/internal/view/metrics/naming"
)

// label is one label of a sample.
func label(name, value string) naming.Label { return naming.Label{Name: name, Value: value} }

// sample is one value with its labels, which are sorted by name.
type sample struct {
	key    string // the labels as one text
	labels []naming.Label
	value  float64
}

// family is all samples of one name.
type family struct {
	name, help string
	kind       dto.MetricType
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
func (fs *families) gauge(name, help string, value float64, labels ...naming.Label) {
	fs.add(naming.Shape{Name: name, Help: help, Scale: 1}, value, labels)
}

// counter adds a value that only grows.
func (fs *families) counter(name, help string, value float64, labels ...naming.Label) {
	fs.add(naming.Shape{Name: name, Help: help, Counter: true, Scale: 1}, value, labels)
}

func (fs *families) add(s naming.Shape, value float64, labels []naming.Label) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return // no number: not known
	}
	if byName := func(a, b naming.Label) int { return cmp.Compare(a.Name, b.Name) }; !slices.IsSortedFunc(labels, byName) {
		labels = slices.SortedFunc(slices.Values(labels), byName) // it may be somebody else's slice
	}
	key := keyOf(labels)
	if fs.had[s.Name+key] {
		return
	}
	fs.had[s.Name+key] = true
	f := fs.byName[s.Name]
	if f == nil {
		f = &family{name: s.Name, help: s.Help, kind: kindOf(s)}
		fs.byName[s.Name] = f
	}
	f.samples = append(f.samples, sample{key, labels, value * s.Scale})
	fs.series++
}

// keyOf is the labels as one text. Values hold no control characters.
func keyOf(labels []naming.Label) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString("\x00" + l.Name + "\x01" + l.Value)
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

// kindOf is the type of a family.
func kindOf(s naming.Shape) dto.MetricType {
	switch {
	case s.Untyped:
		return dto.MetricType_UNTYPED
	case s.Counter:
		return dto.MetricType_COUNTER
	}
	return dto.MetricType_GAUGE
}

// message is the family in the form of client_golang.
func (f *family) message() *dto.MetricFamily {
	out := &dto.MetricFamily{Name: proto.String(f.name), Help: proto.String(f.help), Type: f.kind.Enum(), Metric: make([]*dto.Metric, 0, len(f.samples))}
	for _, s := range f.samples {
		m := &dto.Metric{}
		for _, l := range s.labels {
			m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(l.Name), Value: proto.String(l.Value)})
		}
		switch f.kind {
		case dto.MetricType_COUNTER:
			m.Counter = &dto.Counter{Value: proto.Float64(s.value)}
		case dto.MetricType_UNTYPED:
			m.Untyped = &dto.Untyped{Value: proto.Float64(s.value)}
		default:
			m.Gauge = &dto.Gauge{Value: proto.Float64(s.value)}
		}
		out.Metric = append(out.Metric, m)
	}
	return out
}
