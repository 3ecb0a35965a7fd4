package record

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// anyFloat draws what counters and gauges hold, and what they should not.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(-1<<54, 1<<54), func(n int64) float64 { return float64(n) }),
		rapid.Map(rapid.IntRange(0, 1e6), func(n int) float64 { return float64(n) / 1000 }),
		rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.1, 1e300, math.MaxUint64, 5e-324}),
	)
}

func TestColumnsAreReadBackBitByBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := anyFloat().Draw(t, "base")
		values := rapid.SliceOf(anyFloat()).Draw(t, "values")
		in := &input{data: appendColumn(nil, base, values, nil)}
		got := in.column(base, len(values))
		if in.bad || len(in.data) != 0 || len(got) != len(values) {
			t.Fatalf("read %v of %v, %d bytes left, bad: %v", got, values, len(in.data), in.bad)
		}
		for i := range values {
			if math.Float64bits(got[i]) != math.Float64bits(values[i]) {
				t.Fatalf("value %d is %v, and %v was written", i, got[i], values[i])
			}
		}
	})
}

func TestSteadyCounterTakesAByteAValue(t *testing.T) {
	var values []float64
	for i := range 60 {
		values = append(values, 1e11+float64(i*70_000))
	}
	if n := len(appendColumn(nil, 0, values, nil)); n > 60+20 {
		t.Errorf("60 values of a steady counter take %d bytes", n)
	}
}
