package record

import (
	"math"
	"math/rand/v2"
	"slices"
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
		in := &input{data: appendColumn(nil, base, values)}
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

func TestColumnsOfForm2AreReadBackBitByBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOutput()
		columns := rapid.SliceOfN(rapid.SliceOf(anyFloat()), 1, 5).Draw(t, "columns")
		whole := rapid.SliceOfN(rapid.SliceOf(rapid.Int64()), 1, 5).Draw(t, "whole")
		for _, c := range columns {
			o.column(c)
		}
		for _, c := range append(whole, whole[0]) { // one is there twice
			o.ints(0, c)
		}
		in := coded(o.plain, o.coder.end())
		for _, want := range columns {
			got := in.column(0, len(want))
			for i := range want {
				if in.bad || math.Float64bits(got[i]) != math.Float64bits(want[i]) {
					t.Fatalf("read %v of %v, bad: %v", got, want, in.bad)
				}
			}
		}
		for _, want := range append(whole, whole[0]) {
			if got := in.whole(len(want)); in.bad || !slices.Equal(got, want) {
				t.Fatalf("read %v of %v, bad: %v", got, want, in.bad)
			}
		}
		if len(in.data) != 0 {
			t.Fatalf("%d bytes are left", len(in.data))
		}
	})
}

// What can be foretold takes next to nothing, and chance no more than it is.
func TestRoomThatColumnsTake(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		next func(last float64) float64
		bits float64 // a value
	}{
		"rests":           {func(last float64) float64 { return last }, 0.01},
		"a steady rate":   {func(last float64) float64 { return last + 70_000 }, 0.01},
		"300 to count":    {func(last float64) float64 { return last + float64(r.IntN(300)) }, 8.5},
		"pieces of 16K":   {func(last float64) float64 { return last + 16384*float64(r.IntN(100)) }, 6.9},
		"a share":         {func(float64) float64 { return float64(r.IntN(10000)) / 10000 }, 13.6},
		"rarely anything": {func(last float64) float64 { return last + float64(r.IntN(50)/49) }, 0.2},
	} {
		o, columns := newOutput(), 200
		for range columns {
			values := []float64{0}
			for len(values) < 61 {
				values = append(values, c.next(values[len(values)-1]))
			}
			o.column(values)
		}
		if got := 8 * float64(len(o.coder.end())) / float64(60*columns); got > c.bits {
			t.Errorf("%s: %.3f bits a value, and %.3f are enough", name, got, c.bits)
		}
	}
}

func TestSteadyCounterTakesAByteAValue(t *testing.T) {
	var values []float64
	for i := range 60 {
		values = append(values, 1e11+float64(i*70_000))
	}
	if n := len(appendColumn(nil, 0, values)); n > 60+20 {
		t.Errorf("60 values of a steady counter take %d bytes", n)
	}
}
