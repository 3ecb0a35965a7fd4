package model

import (
	"math"
	"strings"
	"testing"

	"plumb/internal/stats"
)

// TestHeldOutShards: seed:shards-01, one node and the last point, where the data
// fits, foretell 2 to 5 nodes. sysbench's pareto gives 80 % of the reads to 20 %
// of the rows.
func TestHeldOutShards(t *testing.T) {
	measured := map[int]float64{2: 682, 3: 1659, 4: 2748, 5: 3384}
	s := Nodes{Clients: 60, Data: 58 * gib, Cache: 10 * gib, One: 245, Ceiling: 3514, Popularity: Pareto(0.2), Known: true}
	var errors, linear []float64
	for n := 2; n <= 5; n++ {
		r := s.Predict(n)
		if r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
		v := r.Values[0]
		errors = append(errors, v.Value/measured[n]-1)
		linear = append(linear, r.Rivals[1].Value/measured[n]-1)
		t.Logf("%d nodes: %.0f (%.0f to %.0f), measured %.0f: %+.1f %%, linear %+.1f %%; %s", n, v.Value, v.Low, v.High, measured[n], 100*errors[n-2], 100*linear[n-2], v.How)
		if measured[n] < v.Low || measured[n] > v.High {
			t.Errorf("%d nodes are outside the interval", n)
		}
	}
	judge(t, errors, 0.07, 0.10)
	if rms(errors) > rms(linear) {
		t.Error("the linear rival is better")
	}
}

// judge reports the errors, and fails when they are beyond the goals.
func judge(t *testing.T, errors []float64, mostRMS, most float64) {
	t.Helper()
	worst := 0.0
	for _, e := range errors {
		worst = max(worst, math.Abs(e))
	}
	t.Logf("rms %.1f %%, worst %.1f %%; goals %.0f and %.0f %%", 100*rms(errors), 100*worst, 100*mostRMS, 100*most)
	if rms(errors) > mostRMS || worst > most {
		t.Errorf("rms %.3f and worst %.3f are beyond the goals %.2f and %.2f", rms(errors), worst, mostRMS, most)
	}
}

// TestHeldOutDevice: seed:fileio-01, 1 and 4 threads foretell 16, 64 and 256.
func TestHeldOutDevice(t *testing.T) {
	d := Device{Points: []stats.Point{{Threads: 1, Rate: 7113.16}, {Threads: 4, Rate: 26248.44}}}
	measured := map[int]float64{16: 76845.96, 64: 127840.59, 256: 131558.79}
	var errors []float64
	for _, n := range []int{16, 64, 256} {
		r := d.Predict(n)
		if r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
		v := r.Values[0]
		errors = append(errors, v.Value/measured[n]-1)
		t.Logf("%d threads: %.0f (%.0f to %.0f), measured %.0f", n, v.Value, v.Low, v.High, measured[n])
		if measured[n] < v.Low || measured[n] > v.High {
			t.Errorf("%d threads are outside the interval", n)
		}
	}
	judge(t, errors, 0.05, 0.05)
}

// TestHeldOutLog: seed:binlog-01, the row without a log, and 10 and 70 GB with
// one, foretell the other seven with it.
func TestHeldOutLog(t *testing.T) {
	var all, ratio []float64
	for _, version := range []string{"8", "5.7"} {
		without, with := rowOf(version+" without log"), rowOf(version+" with log")
		x := Extra{{without[10], with[10]}, {without[70], with[70]}}
		for _, gb := range []float64{5, 20, 30, 40, 50, 60, 80} {
			r := x.Predict(without[gb])
			if r.Refusal != nil {
				t.Fatal(r.Refusal)
			}
			all, ratio = append(all, r.Values[0].Value/with[gb]-1), append(ratio, r.Rivals[1].Value/with[gb]-1)
		}
	}
	t.Logf("%.3f, a ratio %.3f", all, ratio)
	judge(t, all, 0.06, 0.10)
	if rms(ratio) < rms(all) {
		t.Error("a ratio is better")
	}
}

func TestExtraRefuses(t *testing.T) {
	for _, x := range []Extra{{{100, 90}}, {{100, 90}, {0, 5}}} {
		if r := x.Predict(50); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%v is not refused", x)
		}
	}
	faster := Extra{{100, 110}, {200, 244.4}} // the same time less for each operation
	for _, at := range []float64{150, 2000} {
		if r := faster.Predict(at); r.Refusal == nil || !strings.Contains(r.Refusal.Why, "is not a cost") {
			t.Errorf("%g without it: %+v", at, r.Values)
		}
	}
	same := Extra{{1000, 900}, {100, 90}} // a tenth of each
	if r := same.Predict(10); r.Model != "takes the same part" || math.Abs(r.Values[0].Value-9) > 1e-6 {
		t.Errorf("the rival that is better is not used: %+v", r)
	}
}

func TestNodesRefuse(t *testing.T) {
	good := Nodes{Clients: 60, Data: 58 * gib, Cache: 10 * gib, One: 245, Ceiling: 3514, Popularity: Pareto(0.2)}
	for name, change := range map[string]func(*Nodes){
		"clients":    func(n *Nodes) { n.Clients = 0 },
		"ceiling":    func(n *Nodes) { n.Ceiling = 0 },
		"one":        func(n *Nodes) { n.One = 0 },
		"all cached": func(n *Nodes) { n.Cache = n.Data },
		"no gain":    func(n *Nodes) { n.Ceiling = n.One },
	} {
		n := good
		change(&n)
		if r := n.Predict(2); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%s is not refused", name)
		}
	}
	if v := named(t, good.Predict(2), "response"); math.Abs(v.Value*good.Predict(2).Values[0].Value-60) > 1e-6 {
		t.Errorf("60 clients wait %g s each", v.Value)
	}
	guess, known := good.Predict(3), good
	known.Known = true
	if g, k := guess.Values[0], known.Predict(3).Values[0]; g.High-g.Low <= k.High-k.Low {
		t.Error("a guessed popularity is not doubted more than a known one")
	}
}

func TestDeviceRefuses(t *testing.T) {
	one := stats.Point{Threads: 1, Rate: 100}
	for name, x := range map[string]struct {
		d Device
		n int
	}{
		"one point":                  {Device{[]stats.Point{one}}, 4},
		"no thread":                  {Device{[]stats.Point{one, {Threads: 4, Rate: 300}}}, 0},
		"no rate":                    {Device{[]stats.Point{one, {Threads: 2}}}, 4},
		"no end seen":                {Device{[]stats.Point{one, {Threads: 2, Rate: 200}}}, 64},
		"less with more threads":     {Device{[]stats.Point{one, {Threads: 4, Rate: 50}}}, 64},
		"less in the end":            {Device{[]stats.Point{one, {Threads: 4, Rate: 300}, {Threads: 16, Rate: 200}}}, 8},
		"more than the threads rose": {Device{[]stats.Point{one, {Threads: 4, Rate: 500}}}, 2},
	} {
		if r := x.d.Predict(x.n); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%s is not refused: %+v", name, r)
		}
	}
}

// TestWhatACurveDoesNotExplain: three points that are on no curve of a device are forecast as roughly as they miss it.
func TestWhatACurveDoesNotExplain(t *testing.T) {
	predict := func(middle float64) stats.Estimate {
		d := Device{Points: []stats.Point{{Threads: 1, Rate: 100}, {Threads: 4, Rate: middle}, {Threads: 16, Rate: 700}}}
		r := d.Predict(8)
		if r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
		return r.Values[0].Estimate
	}
	if on := predict(320); on.High > 1.2*on.Value {
		t.Errorf("near the curve: %+v", on)
	}
	if off := predict(220); off.Low > off.Value/2 || off.High < 2*off.Value {
		t.Errorf("a point that was measured at two thirds of what the curve has: %+v", off)
	}
	roughly := Device{Points: []stats.Point{{Threads: 1, Rate: 100, Error: 0.5}, {Threads: 4, Rate: 60, Error: 0.1}}}
	if r := roughly.Predict(2); r.Refusal != nil {
		t.Errorf("rates that are hardly known: %+v", r.Refusal)
	}
}

// TestContentionBeyondWhatWasMeasured: where software contends and falls back, the
// law that fits says nothing of more threads than were measured.
func TestContentionBeyondWhatWasMeasured(t *testing.T) {
	var d Device
	for _, n := range []float64{1, 2, 4, 8, 16, 32, 64} {
		d.Points = append(d.Points, stats.Point{Threads: int(n), Rate: 1000 * n / (1 + 0.05*(n-1) + 0.002*n*(n-1))})
	}
	if r := d.Predict(48); r.Refusal != nil || r.Model != stats.UniversalScalability {
		t.Fatalf("within what was measured: %+v", r)
	}
	if r := d.Predict(128); r.Refusal == nil || r.Refusal.Measure != "measure it at 128 threads" {
		t.Errorf("beyond: %+v", r)
	}
}

// ofChannels is the speed of a device with so many channels.
func ofChannels(m float64) func(float64) float64 {
	return func(jobs float64) float64 { return occupied(jobs, m) }
}

// ofCores is the speed of equal servers with one queue.
func ofCores(n int) func(float64) float64 {
	return func(jobs float64) float64 { return max(1, min(jobs, float64(n))) }
}

// TestNetworkExact: against networks whose rate is known. One queue of one server
// does at most 1/demand; with think time it is the machine repairman's, and a
// device of channels alone follows its own formula.
func TestNetworkExact(t *testing.T) {
	one := Network{Stations: []Station{{Demand: 0.01}}}
	if got := one.Rate(50); math.Abs(got-100) > 1e-9 {
		t.Errorf("one server of 10 ms: %.3f a second", got)
	}
	// Two balanced queues of 10 ms and n clients: n/(n+1) of 100 a second.
	two := Network{Stations: []Station{{Demand: 0.01}, {Demand: 0.01}}}
	for _, n := range []int{1, 2, 5, 20} {
		if got, want := two.Rate(n), 100*float64(n)/float64(n+1); math.Abs(got-want) > 1e-9 {
			t.Errorf("two queues, %d clients: %.6f, want %.6f", n, got, want)
		}
	}
	device := Network{Stations: []Station{{Demand: 0.001, Speed: ofChannels(16)}}}
	if got, want := device.Rate(8), occupied(8, 16)/0.001; math.Abs(got-want) > 1e-6 {
		t.Errorf("channels: %.3f, want %.3f", got, want)
	}
	cores := Network{Stations: []Station{{Demand: 0.001, Speed: ofCores(4)}}}
	if got := cores.Rate(100); math.Abs(got-4000) > 1e-6 {
		t.Errorf("four cores: %.3f", got)
	}
}
