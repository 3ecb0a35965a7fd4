package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// placeholder stands for the name of an agent's host, which is as long.
const placeholder = "host-000000"

// template is one request of remote write, in which names, values and times are
// replaced where they stand.
type template struct {
	raw           []byte
	hosts, at     []int // where names and values stand; a time stands 9 bytes after its value
	values, slope []float64
	began         time.Time
}

func newTemplate(page []byte) (*template, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(string(page)))
	if err != nil {
		return nil, err
	}
	t := &template{began: time.Now()}
	for name, f := range families {
		for _, m := range f.Metric {
			labels := [][2]string{{"__name__", name}}
			for _, l := range m.Label {
				if l.GetValue() != "" && l.GetName() < "instance" {
					labels = append(labels, [2]string{l.GetName(), l.GetValue()})
				}
			}
			labels = append(labels, [2]string{"instance", placeholder}, [2]string{"job", "plumb"})
			for _, l := range m.Label {
				if l.GetValue() != "" && l.GetName() > "job" {
					labels = append(labels, [2]string{l.GetName(), l.GetValue()})
				}
			}
			slope := 0.0
			if m.Counter != nil {
				slope = 1 + 100*rand.Float64()
			}
			t.add(labels, m.GetCounter().GetValue()+m.GetGauge().GetValue()+m.GetUntyped().GetValue(), slope)
		}
	}
	if len(t.values) < 50 {
		return nil, fmt.Errorf("it has only %d series", len(t.values))
	}
	return t, t.check()
}

// add adds a TimeSeries: labels, and one sample of 16 bytes.
func (t *template) add(labels [][2]string, value, slope float64) {
	var one []byte
	host := 0
	for _, l := range labels {
		pair := field(field(nil, 0x0a, l[0]), 0x12, l[1])
		one = binary.AppendUvarint(append(one, 0x0a), uint64(len(pair)))
		if l[1] == placeholder {
			host = len(one) + len(pair) - len(placeholder)
		}
		one = append(one, pair...)
	}
	one = append(one, 0x12, 16, 0x09)
	at := len(one)
	one = append(one, make([]byte, 8)...)
	one = append(one, 0x10)
	one = binary.AppendUvarint(one, uint64(t.began.UnixMilli()))
	t.raw = binary.AppendUvarint(append(t.raw, 0x0a), uint64(len(one)))
	t.hosts, t.at = append(t.hosts, len(t.raw)+host), append(t.at, len(t.raw)+at)
	t.values, t.slope = append(t.values, value), append(t.slope, slope)
	t.raw = append(t.raw, one...)
}

// field adds a text with its tag and length.
func field(to []byte, tag byte, text string) []byte {
	return append(binary.AppendUvarint(append(to, tag), uint64(len(text))), text...)
}

// check sees that times take as many bytes as they did, and names stand where they should.
func (t *template) check() error {
	if len(binary.AppendUvarint(nil, uint64(time.Now().UnixMilli()))) != 6 {
		return errors.New("a time does not take six bytes")
	}
	for _, h := range t.hosts {
		if string(t.raw[h:h+len(placeholder)]) != placeholder {
			return errors.New("a name does not stand where it should")
		}
	}
	return nil
}

// request is what an agent sends at a moment. Gauges move in one of four.
func (t *template) request(agent int, now time.Time) []byte {
	raw := append([]byte(nil), t.raw...)
	host := fmt.Sprintf("host-%06d", agent)
	seconds := now.Sub(t.began).Seconds()
	for i, at := range t.at {
		copy(raw[t.hosts[i]:], host)
		v := t.values[i] + math.Floor(t.slope[i]*seconds)
		if t.slope[i] == 0 && (i+int(seconds))%4 == 0 {
			v *= 1 + rand.Float64()/100
		}
		binary.LittleEndian.PutUint64(raw[at:], math.Float64bits(v))
		binary.PutUvarint(raw[at+9:], uint64(now.UnixMilli()))
	}
	return snappy.Encode(nil, raw)
}
