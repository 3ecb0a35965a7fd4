package metrics

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
	"plumb/internal/view/metrics/naming"
)

// fields takes a message apart: what each number holds, in order.
func fields(t *testing.T, raw []byte) map[protowire.Number][]any {
	t.Helper()
	all := map[protowire.Number][]any{}
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		raw = raw[n:]
		switch kind {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(raw)
			all[number], raw = append(all[number], v), raw[n:]
		case protowire.Fixed64Type:
			v, n := protowire.ConsumeFixed64(raw)
			all[number], raw = append(all[number], math.Float64frombits(v)), raw[n:]
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(raw)
			all[number], raw = append(all[number], v), raw[n:]
		default:
			t.Fatalf("a field of kind %d", kind)
		}
	}
	return all
}

func plain(t *testing.T, body []byte) []byte {
	t.Helper()
	raw, err := snappy.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// read1 and read2 read what was sent as the two specifications say.
func read1(t *testing.T, body []byte) (all []string) {
	for _, series := range fields(t, plain(t, body))[1] {
		f, text := fields(t, series.([]byte)), ""
		for _, l := range f[1] {
			pair := fields(t, l.([]byte))
			text += fmt.Sprintf("%s=%s ", pair[1][0], pair[2][0])
		}
		s := fields(t, f[2][0].([]byte))
		all = append(all, fmt.Sprintf("%s%v at %d", text, s[1][0], s[2][0]))
	}
	return all
}

func read2(t *testing.T, body []byte) (all []string) {
	message := fields(t, plain(t, body))
	if len(message[1])+len(message[2])+len(message[3]) > 0 || len(message[4][0].([]byte)) != 0 {
		t.Error("it has fields of 1.0, or its first symbol is not empty")
	}
	symbol := func(n uint64) string { return string(message[4][n].([]byte)) }
	for _, series := range message[5] {
		f, text := fields(t, series.([]byte)), ""
		for refs := f[1][0].([]byte); len(refs) > 0; {
			name, n := protowire.ConsumeVarint(refs)
			value, m := protowire.ConsumeVarint(refs[n:])
			refs = refs[n+m:]
			text += symbol(name) + "=" + symbol(value) + " "
		}
		s, about := fields(t, f[2][0].([]byte)), fields(t, f[5][0].([]byte))
		all = append(all, fmt.Sprintf("%s%v at %d; type %d, %s", text, s[1][0], s[2][0], about[1][0], symbol(about[3][0].(uint64))))
	}
	return all
}

func TestBodiesOfBothVersions(t *testing.T) {
	up := []naming.Label{label("__name__", "up"), label("job", "plumb")}
	done := []naming.Label{label("__name__", "done_total"), label("job", "plumb")}
	q := Request{at: time.UnixMilli(1790000000123), lines: []line{
		{labels: up, help: "whether", kind: dto.MetricType_GAUGE, value: 1}, {labels: done, help: "how many", kind: dto.MetricType_COUNTER, value: 2.5},
		{labels: up, kind: dto.MetricType_UNTYPED, value: stale}}}
	if got, want := read1(t, q.Body(false)), []string{"__name__=up job=plumb 1 at 1790000000123", "__name__=done_total job=plumb 2.5 at 1790000000123", "__name__=up job=plumb NaN at 1790000000123"}; !reflect.DeepEqual(got, want) {
		t.Errorf("1.0 has %q", got)
	}
	if got, want := read2(t, q.Body(true)), []string{"__name__=up job=plumb 1 at 1790000000123; type 2, whether", "__name__=done_total job=plumb 2.5 at 1790000000123; type 1, how many", "__name__=up job=plumb NaN at 1790000000123; type 0, "}; !reflect.DeepEqual(got, want) {
		t.Errorf("2.0 has %q", got)
	}
}

// Both versions say the same of a host, and what waits to be sent shares its labels.
func TestRequestsOfAHost(t *testing.T) {
	e, _ := madeExporter(t, Options{Statements: 1})
	remote := e.Remote(map[string]string{"instance": "db1"})
	first, n := remote.Request(time.Now())
	again, m := remote.Request(time.Now())
	one, two := read1(t, first.Body(false)), read2(t, first.Body(true))
	if n == 0 || n != m || len(one) != n || len(two) != n {
		t.Fatalf("%d and %d samples; %d in 1.0, %d in 2.0", n, m, len(one), len(two))
	}
	if first.Len() <= again.Len() || again.Len() > 100*n {
		t.Errorf("a request of %d samples takes %d bytes, and the next %d", n, first.Len(), again.Len())
	}
	t.Logf("%d samples: 1.0 takes %d bytes, 2.0 %d", n, len(first.Body(false)), len(first.Body(true)))
}
