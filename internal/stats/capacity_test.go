package stats

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// nvme is an Intel 750, 16K random reads with O_DIRECT over 600 s (published
// measurement; seed:fileio-01).
var nvme = []Point{
	{Threads: 1, Rate: 7113.16}, {Threads: 4, Rate: 26248.44}, {Threads: 16, Rate: 76845.96},
	{Threads: 64, Rate: 127840.59}, {Threads: 256, Rate: 131558.79},
}

func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if !(math.Abs(got-want) <= part*math.Abs(want)) {
		t.Errorf("%s is %.5g, want %.5g within %g", what, got, want, part)
	}
}

func TestCapacityOfNVMe(t *testing.T) {
	c, err := FitCapacity(nvme)
	if err != nil {
		t.Fatal(err)
	}
	if c.Model != RandomOccupancy {
		t.Fatalf("chose %s", c.Model)
	}
	within(t, "s", c.Params[0].Value, 140.8e-6, 0.005)
	within(t, "m", c.Params[1].Value, 18.5, 0.01)
	within(t, "fit", c.Fit, 0.0035, 0.15)
	within(t, "base", c.Base.Value, 140.8e-6, 0.005)
	within(t, "maximum", c.Max.Value, 131500, 0.01)
	within(t, "rate at 32", c.Predict(32).Value, 131500*(1-math.Exp(-32/18.5)), 0.02)
	if c.Max.High-c.Max.Low > 0.05*c.Max.Value || c.Max.High-c.Max.Low < 0.002*c.Max.Value {
		t.Errorf("the maximum is %+v", c.Max)
	}
	if c.Best.Low < 16 || c.Best.High > 64 || c.Best.Open {
		t.Errorf("best concurrency %+v, want within 16 to 64", c.Best)
	}
	if len(c.Doubts) > 0 {
		t.Errorf("doubts %v", c.Doubts)
	}
}

// Predicting 64 and 256 threads from one and four, as the research did.
func TestCapacityFromLittleLoad(t *testing.T) {
	points := []Point{{Threads: 1, Rate: 7113.16}, {Threads: 2, Rate: 13900}, {Threads: 4, Rate: 26248.44}, {Threads: 16, Rate: 76845.96}}
	c, err := FitCapacity(points)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "forecast of 256", c.Predict(256).Value, 131558, 0.06)
	if len(c.Doubts) == 0 {
		t.Error("no doubt about a forecast")
	}
}

// made gives points of a true curve with noise of a part sigma.
func made(seed uint64, m *model, params []float64, sigma float64, levels ...int) (points []Point) {
	r := random(seed)
	k := curve{model: m, params: params}
	for _, n := range levels {
		points = append(points, Point{Threads: n, Rate: k.rate(float64(n)) * math.Exp(sigma*r.NormFloat64())})
	}
	return points
}

var doubling = []int{1, 2, 4, 8, 16, 32, 64, 128}

// Each model must be recognised when it is the true one.
func TestCapacityChoosesModel(t *testing.T) {
	truth := [][]float64{{1e-4, 20}, {1e-4, 20, 4}, {10000, 0.03, 0.0005}}
	for i, m := range models() {
		right := 0
		for seed := range uint64(15) {
			if c := choose(made(seed, m, truth[i], 0.01, doubling...), doubling); c.Model == m.name {
				right++
			}
		}
		if right < 13 {
			t.Errorf("%s was recognised %d of 15 times", m.name, right)
		}
	}
}

// The 95 % intervals must hold the truth about as often as that.
func TestCapacityCovers(t *testing.T) {
	for i, params := range [][]float64{{1e-4, 20}, {1e-4, 20, 3}, {10000, 0.03, 0.0005}} {
		m := models()[i]
		truth := curve{model: m, params: params}
		held, base := 0, 0
		const tries = 40
		for seed := range uint64(tries) {
			points := made(seed, m, params, 0.02, doubling...)
			fitted := m.fit(points, nil)
			c := Capacity{curve: fitted, others: fitted.resample(points, 150)}
			if e := c.spread(curve.max); e.Low <= truth.max() && truth.max() <= e.High {
				held++
			}
			if e := c.spread(curve.base); e.Low <= truth.base() && truth.base() <= e.High {
				base++
			}
		}
		if held < tries*88/100 || base < tries*88/100 {
			t.Errorf("%s: of %d intervals %d hold the maximum, %d the base", m.name, tries, held, base)
		}
	}
}

// A point's own error widens the intervals.
func TestCapacityUsesErrors(t *testing.T) {
	sure, err := FitCapacity(nvme)
	if err != nil {
		t.Fatal(err)
	}
	var points []Point
	for _, p := range nvme {
		p.Error = 0.1
		points = append(points, p)
	}
	unsure, err := FitCapacity(points)
	if err != nil {
		t.Fatal(err)
	}
	if unsure.Max.High-unsure.Max.Low < 3*(sure.Max.High-sure.Max.Low) {
		t.Errorf("%+v and %+v", sure.Max, unsure.Max)
	}
}

func TestCapacityOfSerialDevice(t *testing.T) {
	points := made(1, models()[0], []float64{0.01, 1.02}, 0.01, 1, 4, 16, 64)
	c, err := FitCapacity(points)
	if err != nil {
		t.Fatal(err)
	}
	if c.Best.Low != 1 || c.Best.High > 2 {
		t.Errorf("best %+v", c.Best)
	}
}

func TestCapacityNeverFilled(t *testing.T) {
	c, err := FitCapacity(made(1, models()[0], []float64{1e-4, 4000}, 0.01, 1, 2, 4, 8, 16))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Doubts) == 0 || !c.Best.Open {
		t.Errorf("%+v", c)
	}
}

func TestCapacityRefuses(t *testing.T) {
	for _, points := range [][]Point{
		nil, nvme[:3], {nvme[0], nvme[0], nvme[1], nvme[2]},
		{{Threads: 10, Rate: 1}, {Threads: 11, Rate: 1}, {Threads: 12, Rate: 1}, {Threads: 13, Rate: 1}},
	} {
		if c, err := FitCapacity(points); !errors.Is(err, errFewPoints) {
			t.Errorf("%v gives %+v, %v", points, c, err)
		}
	}
	for _, bad := range []Point{{Threads: 0, Rate: 1}, {Threads: 1, Rate: 0}, {Threads: 1, Rate: math.NaN()}, {Threads: 1, Rate: math.Inf(1)}} {
		if c, err := FitCapacity(append([]Point{bad}, nvme...)); err == nil {
			t.Errorf("%v gives %+v", bad, c)
		}
	}
}

// Any rates at all give finite numbers in order.
func TestCapacityHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []Point
		for _, n := range []int{1, 4, 16, 64, 256} {
			points = append(points, Point{Threads: n, Rate: rapid.Float64Range(1e-3, 1e7).Draw(t, fmt.Sprint(n))})
		}
		c, err := FitCapacity(points)
		if err != nil {
			t.Fatal(err)
		}
		all := []Estimate{c.Max, c.Base, c.Predict(1000)}
		for _, p := range c.Params {
			all = append(all, p.Estimate)
		}
		for _, e := range all {
			if !(e.Low <= e.Value && e.Value <= e.High) || math.IsInf(e.High, 0) || math.IsNaN(e.Value) {
				t.Fatalf("%+v of %+v", e, c)
			}
		}
		if c.Best.Low < 1 || c.Best.High > 256 || c.Best.Low > c.Best.High {
			t.Fatalf("%+v", c.Best)
		}
	})
}
