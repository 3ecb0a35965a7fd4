package model

import (
	"math"
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
		x := Extra{Without: shown(without, 10, 70), With: shown(with, 10, 70)}
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
