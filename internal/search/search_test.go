package search

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func space() []Dimension {
	return []Dimension{
		{Name: "pool", Low: 64 << 20, High: 1 << 30, Log: true, Step: 1 << 20, Start: 128 << 20},
		{Name: "percent", Low: 10, High: 90, Step: 1, Start: 90},
		{Name: "switch", Grid: []float64{0, 1}, Start: math.NaN()},
		{Name: "idle", Low: 0, High: 1, Start: math.NaN()},
	}
}

func TestValuesCanBeSet(t *testing.T) {
	for _, d := range space() {
		for part := -0.1; part < 1.1; part += 0.01 {
			v := d.At(part)
			if d.Grid == nil && (v < d.Low || v > d.High) {
				t.Errorf("%s at %g is %g, out of range", d.Name, part, v)
			}
			if d.Step > 0 && math.Mod(v, d.Step) != 0 {
				t.Errorf("%s at %g is %g, not a multiple of %g", d.Name, part, v, d.Step)
			}
			if again := d.At(d.Part(v)); math.Abs(again-v) > 1e-9*v {
				t.Errorf("%s: %g became %g", d.Name, v, again)
			}
		}
	}
}

func TestValuesSpanTheRange(t *testing.T) {
	d := space()[0]
	got := d.Values(5)
	want := []float64{64 << 20, 128 << 20, 256 << 20, 512 << 20, 1 << 30}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := space()[2].Values(9); !reflect.DeepEqual(got, []float64{0, 1}) {
		t.Errorf("a grid of two has values %v", got)
	}
}

func TestCubeHoldsEveryPartOfEveryRangeOnce(t *testing.T) {
	d := Dimension{Low: 0, High: 1}
	const n = 20
	all := cube([]Dimension{d, d, d}, n, 7)
	for dim := range 3 {
		var cells [n]int
		for _, p := range all {
			cells[int(p[dim]*n)]++
		}
		for i, c := range cells {
			if c != 1 {
				t.Errorf("dimension %d: part %d holds %d points", dim, i, c)
			}
		}
	}
}

// truth is a made-up server: the pool saturates, the percentage has a best
// value, the switch costs a tenth, the fourth does nothing.
func truth(p Point) float64 {
	pool := (math.Log2(p[0]) - 26) / 4
	percent := (p[1] - 60) / 80
	return 0.8*(1-math.Exp(-3*pool)) - 1.5*percent*percent - 0.1*p[2]
}

// run lets a method spend a budget on truth with noise.
func run(m Method, total, each int, seed uint64, refuses func(Point) bool) (tried []Outcome) {
	noise := cube([]Dimension{{Low: -1, High: 1}}, 400, seed+99)
	for block := 0; len(tried) < total; block++ {
		for _, p := range m.Ask(tried, min(each, total-len(tried)), seed) {
			o := Outcome{Point: p, Block: block, Value: truth(p) + 0.05*noise[len(tried)][0] + 0.03*noise[200+block][0]}
			if refuses(p) {
				o.Failed, o.Value = true, math.NaN()
			}
			tried = append(tried, o)
		}
	}
	return tried
}

func never(Point) bool { return false }

func TestMethodsComeNearTheBest(t *testing.T) {
	best := truth(Point{1 << 30, 60, 0, 0})
	for _, m := range []struct {
		name string
		Method
		miss float64
	}{{"random", Random{Space: space(), Total: 40, Again: 8}, 0.3}, {"bayes", Bayes{Space: space(), Total: 40}, 0.08}} {
		sum := 0.0
		const runs = 10
		for seed := range uint64(runs) {
			tried := run(m.Method, 40, 5, seed, never)
			sum += best - truth(m.Top(tried, 1)[0])
		}
		if miss := sum / runs; miss > m.miss {
			t.Errorf("%s misses the best by %.3f on average, more than %.3f", m.name, miss, m.miss)
		}
	}
}

func TestFailedPointsAreNeverChosen(t *testing.T) {
	refuses := func(p Point) bool { return p[0] > 600<<20 }
	for seed := range uint64(5) {
		b := Bayes{Space: space(), Total: 40}
		tried := run(b, 40, 5, seed, refuses)
		fails := 0
		for _, o := range tried {
			if o.Failed {
				fails++
			}
		}
		if fails > 16 {
			t.Errorf("seed %d: %d of 40 trials were spent where servers refuse", seed, fails)
		}
		for _, p := range b.Top(tried, 5) {
			if refuses(p) {
				t.Errorf("seed %d: %v is among the best, and fails", seed, p)
			}
		}
	}
}

func TestCurvesTellWhatMatters(t *testing.T) {
	right := map[string]int{}
	for seed := range uint64(5) {
		tried := run(Bayes{Space: space(), Total: 50}, 50, 5, seed, never)
		for _, c := range Curves(space(), tried, 0.05, 1) {
			right[space()[c.Dimension].Name+" "+c.Word]++
			for i, e := range c.Response {
				if !(e.Low <= e.Value && e.Value <= e.High) || e.N == 0 {
					t.Errorf("seed %d: value %d has the response %+v", seed, i, e)
				}
			}
		}
	}
	if right["pool "+Matters] < 4 || right["percent "+Matters] < 3 || right["idle "+Matters] > 0 {
		t.Errorf("judged so: %v", right)
	}
}

func TestExpectedIsLessThanTheLuckiest(t *testing.T) {
	flat := func(seed uint64) (tried []Outcome) {
		for i, p := range cube(space(), 30, seed) {
			tried = append(tried, Outcome{Point: p, Block: i / 5, Value: 0.05 * math.Sin(float64(i)*2.3+float64(seed))})
		}
		return tried
	}
	tried := flat(3)
	p := Bayes{Space: space()}.Top(tried, 1)[0]
	e, known := Expected(space(), tried, p)
	if !known || e.Value > 0.045 || e.Low > 0 {
		t.Errorf("of points that are all equal the best is expected to bring %+v", e)
	}
}

func TestNothingTriedGivesNothing(t *testing.T) {
	if c := Curves(space(), nil, 0.05, 1); c != nil {
		t.Errorf("curves of nothing: %v", c)
	}
	if p := (Bayes{Space: space()}).Top(nil, 3); len(p) != 0 {
		t.Errorf("the best of nothing: %v", p)
	}
	first := Bayes{Space: space(), Total: 20}.Ask(nil, 4, 1)
	if first[0][0] != 128<<20 || first[0][1] != 90 {
		t.Errorf("begins at %v, not at the start", first[0])
	}
}

// TestAskIsPureAndStaysInside: whatever came of the trials, a method asks for
// other points of the space, the same each time.
func TestAskIsPureAndStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tried []Outcome
		n := rapid.IntRange(0, 14).Draw(t, "tried")
		for i := range n {
			u := rapid.SliceOfN(rapid.Float64Range(0, 1), 4, 4).Draw(t, "at")
			o := Outcome{Point: at(space(), u), Block: i / 3, Value: rapid.Float64().Draw(t, "value")}
			if rapid.Bool().Draw(t, "fails") {
				o.Failed, o.Value = true, math.NaN()
			}
			tried = append(tried, o)
		}
		seed, k := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 6).Draw(t, "n")
		for _, m := range []Method{Random{Space: space(), Total: 12, Again: 3}, Bayes{Space: space(), Total: 12}} {
			got := m.Ask(tried, k, seed)
			if len(got) != k || !reflect.DeepEqual(got, m.Ask(tried, k, seed)) {
				t.Fatalf("%T asks for %v", m, got)
			}
			for i, p := range got {
				if holds(got[:i], p) || !slices.Equal(p, at(space(), parts(space(), p))) {
					t.Fatalf("%T asks for %v of %v", m, p, got)
				}
			}
			for _, p := range m.Top(tried, 3) {
				if failed(tried, p) {
					t.Fatalf("%T chooses %v, which failed", m, p)
				}
			}
			Curves(space(), tried, 0.05, seed)
		}
	})
}
