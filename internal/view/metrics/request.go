package metrics

import (
	"math"
	"time"
	"unsafe"

	"github.com/klauspost/compress/snappy"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"

	"plumb/internal/view/metrics/naming"
)

// Request is what is sent by remote write at once: series with one sample each.
// Its body is made when it is known which message the receiver takes.
type Request struct {
	at    time.Time
	lines []line
	bytes int // of labels that no request before had
}

// line is a series with its sample.
type line struct {
	labels []naming.Label // sorted, the name among them
	help   string
	kind   dto.MetricType
	value  float64
}

// Len is about how many bytes a request takes while it waits.
func (q Request) Len() int { return q.bytes + len(q.lines)*int(unsafe.Sizeof(line{})) }

// Body is the request as it is sent: as io.prometheus.write.v2.Request of remote
// write 2.0 or as prometheus.WriteRequest of 1.0.
// https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/
func (q Request) Body(second bool) []byte {
	if second {
		return snappy.Encode(nil, q.second())
	}
	return snappy.Encode(nil, q.first())
}

// The numbers of fields in prompb/types.proto and prompb/remote.proto.
func (q Request) first() (raw []byte) {
	for _, l := range q.lines {
		var one []byte
		for _, pair := range l.labels {
			one = appendMessage(one, 1, appendText(appendText(nil, 1, pair.Name), 2, pair.Value))
		}
		one = appendMessage(one, 2, l.sample(q.at))
		raw = appendMessage(raw, 1, one)
	}
	return raw
}

// The numbers of fields in prompb/io/prometheus/write/v2/types.proto.
const (
	fieldSymbols  = 4
	fieldSeries   = 5
	fieldRefs     = 1
	fieldSamples  = 2
	fieldMetadata = 5
	fieldType     = 1
	fieldHelp     = 3
)

// types are the numbers of types there; 0 is one that is not specified.
var types = map[dto.MetricType]uint64{dto.MetricType_COUNTER: 1, dto.MetricType_GAUGE: 2}

// symbols are the texts of a request, each once. The first is empty.
type symbols struct {
	place map[string]uint64
	raw   []byte
}

func (s *symbols) of(text string) uint64 {
	n, known := s.place[text]
	if !known {
		n = uint64(len(s.place))
		s.place[text] = n
		s.raw = appendText(s.raw, fieldSymbols, text)
	}
	return n
}

func (q Request) second() []byte {
	s := &symbols{place: map[string]uint64{}}
	s.of("")
	var series []byte
	for _, l := range q.lines {
		var refs, about []byte
		for _, pair := range l.labels {
			refs = protowire.AppendVarint(protowire.AppendVarint(refs, s.of(pair.Name)), s.of(pair.Value))
		}
		about = protowire.AppendVarint(protowire.AppendTag(about, fieldType, protowire.VarintType), types[l.kind])
		about = protowire.AppendVarint(protowire.AppendTag(about, fieldHelp, protowire.VarintType), s.of(l.help))
		one := appendMessage(appendMessage(nil, fieldRefs, refs), fieldSamples, l.sample(q.at))
		series = appendMessage(series, fieldSeries, appendMessage(one, fieldMetadata, about))
	}
	return append(s.raw, series...)
}

// sample is the same message in both.
func (l line) sample(at time.Time) (s []byte) {
	s = protowire.AppendFixed64(protowire.AppendTag(s, 1, protowire.Fixed64Type), math.Float64bits(l.value))
	return protowire.AppendVarint(protowire.AppendTag(s, 2, protowire.VarintType), uint64(at.UnixMilli()))
}

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), text)
}
