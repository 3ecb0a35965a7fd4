package load

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range and precision of every histogram: 1 ns to 1 hour, to three digits.
const (
	shortest = 1
	longest  = int64(time.Hour)
	digits   = 3
)

// Latency is a whole distribution of durations in nanoseconds, to three
// digits. Percentiles of several are found by merging them, never by
// averaging.
type Latency struct{ *hdrhistogram.Histogram }

// NewLatency makes an empty distribution.
func NewLatency() Latency { return Latency{hdrhistogram.New(shortest, longest, digits)} }

// Record adds one duration; what is over an hour counts as an hour.
func (l Latency) Record(d time.Duration) {
	_ = l.RecordValue(min(max(int64(d), shortest), longest)) // cannot fail within the range
}

// Summary is a distribution in a few numbers.
type Summary struct {
	N                        int64
	Mean, Min, Max           time.Duration
	P50, P90, P95, P99, P999 time.Duration
}

// Summary gives the numbers people ask for. All are zero when N is 0.
func (l Latency) Summary() Summary {
	if l.Histogram == nil || l.TotalCount() == 0 {
		return Summary{}
	}
	slowest := time.Duration(l.Max()) // which looks at every bucket
	at := func(p float64) time.Duration { return min(time.Duration(l.ValueAtQuantile(p)), slowest) }
	return Summary{
		N: l.TotalCount(), Mean: time.Duration(l.Mean()), Min: time.Duration(l.Min()), Max: slowest,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9),
	}
}

// Packed is the whole distribution in the compressed form of HdrHistogram V2,
// which other tools read too.
func (l Latency) Packed() ([]byte, error) {
	return l.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// Unpack reads what Packed gave.
func Unpack(packed []byte) (Latency, error) {
	h, err := hdrhistogram.Decode(packed)
	if err != nil {
		return Latency{}, fmt.Errorf("read a latency histogram: %w", err)
	}
	return Latency{h}, nil
}
