package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/stats"
)

// values gives records of two arms, block by block.
func values(x experiment.Experiment, blocks ...[2]float64) (all []experiment.Record) {
	for i, v := range blocks {
		for p, arm := range []string{"a", "b"} {
			all = append(all, record(experiment.Trial{Block: i + 1, Position: p + 1, Arm: arm}, v[p]))
		}
	}
	return all
}

func packed(t *testing.T, durations ...time.Duration) []byte {
	t.Helper()
	l := load.NewLatency()
	for _, d := range durations {
		l.Record(d)
	}
	text, err := l.Packed()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The percentiles are those of the merged histograms, to the last digit.
func TestLatencyIsThatOfTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	whole := load.NewLatency()
	var trials []*experiment.Record
	for i := range 5 {
		one := &experiment.Record{}
		for _, n := range []int{3000, 200 * (i + 1)} {
			l := load.NewLatency()
			for range n {
				d := time.Duration(float64(2*time.Millisecond) * math.Exp(r.NormFloat64()+0.05*float64(i)))
				l.Record(d)
				whole.Record(d)
			}
			text, _ := l.Packed()
			one.Ops = append(one.Ops, experiment.Op{Histogram: text})
		}
		trials = append(trials, one)
	}
	l, s := latency(trials), whole.Summary()
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	for what, c := range map[string]struct {
		got  stats.Estimate
		want time.Duration
	}{"p50": {l.P50, s.P50}, "p95": {l.P95, s.P95}, "p99": {l.P99, s.P99}, "max": {l.Max, s.Max}, "mean": {l.Mean, s.Mean}} {
		if math.Abs(c.got.Value-ms(c.want)) > 1e-5 {
			t.Errorf("%s is %g ms, want %g", what, c.got.Value, ms(c.want))
		}
		if width := c.got.High - c.got.Low; what != "max" && !(width > 0 && width < c.got.Value) || what == "max" && !math.IsInf(width, 1) {
			t.Errorf("%s is %+v", what, c.got)
		}
	}
	if l.N != s.N {
		t.Errorf("%d values, want %d", l.N, s.N)
	}
}

func TestLatencyOfLittle(t *testing.T) {
	for _, ops := range [][]experiment.Op{nil, {{Name: "x"}}, {{Histogram: []byte("no histogram")}}} {
		if l := latency([]*experiment.Record{{Ops: ops}}); l.N != 0 || l.P99.N != 0 {
			t.Errorf("%v: %+v", ops, l)
		}
	}
	l := latency([]*experiment.Record{{Ops: []experiment.Op{{Histogram: packed(t, time.Millisecond)}}}, {Ops: []experiment.Op{{Histogram: []byte("no")}}}})
	if l.N != 1 || !math.IsInf(l.P50.High, 1) || len(l.P50.Warnings) < 2 {
		t.Errorf("%+v", l)
	}
}

// What does not count is listed and not averaged; the last valid attempt is
// the one that counts.
func TestWhatCounts(t *testing.T) {
	x := twoArms()
	records := values(x, [2]float64{100, 110}, [2]float64{100, 110}, [2]float64{100, 110})
	records[3].Mark(experiment.MarkThrottle, "limited")
	again := records[3]
	again.Attempt, again.Marks, again.Metric, again.Began = 2, nil, 121, again.Began.Add(time.Second)
	old := records[0]
	old.Metric, old.Attempt = 5, 0
	cut := records[5]
	cut.Attempt, cut.Metric = 2, 0
	cut.Mark(experiment.MarkCut, "killed")
	r := Make(x, append(records, again, old, cut))
	if len(r.Invalid) != 2 || r.Done != 3 || r.Arms[0].Trials != 3 || r.Arms[1].Trials != 3 {
		t.Fatalf("%+v", r)
	}
	within(t, "a", r.Arms[0].Metric.Value, 100)
	within(t, "b", r.Arms[1].Metric.Value, (110+121+110)/3.)
	if len(r.Records) != len(records)+3 || !r.Began.Equal(records[0].Began) {
		t.Errorf("%d records from %s", len(r.Records), r.Began)
	}
}

func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

func TestArm(t *testing.T) {
	x := twoArms()
	x.Published = []experiment.Published{{Arm: "b", Value: 5263, Unit: "tps"}}
	records := values(x, [2]float64{100, 110}, [2]float64{102, 112})
	for i := range records {
		r := &records[i]
		r.Costs = []experiment.Cost{{Layer: "device", Name: "written", Unit: "B/op", Value: float64(1000 + i), From: "/proc/diskstats"}}
		r.Series = []experiment.Second{{Length: 1, Warmup: true, Done: 1}, {Length: 1, Done: 100}, {Length: 2, Done: 220}, {Length: 1, Done: 1}, {Length: 0.2, Done: 0}}
	}
	records[0].Costs = nil // not known there
	r := Make(x, records)
	a, b := r.Arms[0], r.Arms[1]
	if b.Published == nil || b.Published.Value != 5263 || a.Published != nil {
		t.Errorf("%+v", b.Published)
	}
	if len(a.Costs) != 1 || a.Costs[0].Estimate.N != 1 || b.Costs[0].Estimate.Value != 1002 || b.Costs[0].From != "/proc/diskstats" {
		t.Errorf("%+v %+v", a.Costs, b.Costs)
	}
	within(t, "stalls", b.Stalls, 1000./3)
	if !(b.Variation > 0.8 && b.Variation < 0.9) {
		t.Errorf("varies by %g", b.Variation)
	}
	within(t, "the time of all trials", r.Took.Seconds(), 4*30)
	if none := Make(x, nil).Arms[0]; !math.IsNaN(none.Variation) || !math.IsNaN(none.Stalls) || none.Metric.N != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}

// Arms that were switched in one run share their time.
func TestTimeOfSharedRuns(t *testing.T) {
	x := twoArms()
	records := values(x, [2]float64{1, 1})
	records[1].Began, records[1].Ended = records[0].Began.Add(time.Second), records[0].Ended
	if took := Make(x, records).Took; took != 30*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestFailedArm(t *testing.T) {
	x := manyArms(3)
	var records []experiment.Record
	for b := 1; b <= 3; b++ {
		records = append(records, record(experiment.Trial{Block: b, Arm: "arm0"}, 100+float64(b)), record(experiment.Trial{Block: b, Arm: "arm1"}, 150+float64(b)))
	}
	bad := record(experiment.Trial{Block: 1, Arm: "arm2"}, 0)
	bad.Mark(experiment.MarkFailed, "the server refused its configuration")
	r := Make(x, append(records, bad))
	if r.Arms[2].Failed != "the server refused its configuration" || r.Arms[2].Trials != 0 || r.Arms[0].Failed != "" || r.Done != 3 {
		t.Errorf("%+v", r)
	}
	v := r.Verdicts[1]
	if v.Word != Undecided || v.More != 0 || v.Effect.N != 0 || v.Sentence != "arm2 against arm0: nothing to compare, because arm2 could not run." {
		t.Errorf("%+v", v)
	}
	if v := r.Verdicts[0]; v.Word != Better || v.P > 0.01 {
		t.Errorf("%+v", v)
	}
}

// Times should be low, rates high.
func TestDirection(t *testing.T) {
	for metric, want := range map[string]string{"rate": Better, "p99": Worse, "mean": Worse} {
		x := twoArms()
		x.Metric = metric
		v := Make(x, values(x, [2]float64{100, 120}, [2]float64{101, 120}, [2]float64{102, 122})).Verdicts[0]
		if v.Word != want || v.Effect.Value < 0.15 {
			t.Errorf("%s: %+v", metric, v)
		}
	}
}

// Neither the order of the records nor the unit of the values matters.
func TestOrderDoesNotMatter(t *testing.T) {
	same := cmp.Options{cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(stats.Capacity{}), cmpopts.EquateEmpty()}
	rapid.Check(t, func(t *rapid.T) {
		x := manyArms(rapid.IntRange(1, 4).Draw(t, "arms"))
		w := world{r: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), noise: 0.03, drift: 0.02}
		var records []experiment.Record
		for b := range rapid.IntRange(0, 5).Draw(t, "blocks") {
			records = append(records, w.block(x, b+1)...)
		}
		for i := range records {
			switch rapid.IntRange(0, 12).Draw(t, "fate") {
			case 0:
				records[i].Mark(experiment.MarkThrottle, "limited")
			case 1:
				records[i].Mark(experiment.MarkFailed, "refused")
			case 2:
				records[i].Mark(experiment.MarkCut, "killed")
			case 3:
				records[i].Metric = 0
			}
		}
		first := Make(x, records)
		if d := cmp.Diff(first, Make(x, rapid.Permutation(slices.Clone(records)).Draw(t, "order")), same); d != "" {
			t.Fatal(d)
		}
		scaled := slices.Clone(records)
		for i := range scaled {
			scaled[i].Metric *= 8 // exact in binary, so that nothing rounds
		}
		for i, v := range Make(x, scaled).Verdicts {
			if old := first.Verdicts[i]; v.Word != old.Word || math.Abs(v.Effect.Value-old.Effect.Value) > 1e-9 {
				t.Fatalf("%+v and %+v", v, old)
			}
		}
	})
}

func TestSwappedArms(t *testing.T) {
	flipped := map[string]string{Better: Worse, Worse: Better, Equivalent: Equivalent, Undecided: Undecided}
	rapid.Check(t, func(t *rapid.T) {
		x := twoArms()
		w := world{r: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), noise: 0.03, drift: 0.02, effect: map[string]float64{"b": 0.06}}
		var records []experiment.Record
		for b := range rapid.IntRange(0, 6).Draw(t, "blocks") {
			records = append(records, w.block(x, b+1)...)
		}
		one := Make(x, records).Verdicts[0]
		x.Pairs[0] = experiment.Pair{Arm: "a", Baseline: "b"}
		two := Make(x, records).Verdicts[0]
		if flipped[one.Word] != two.Word || one.Effect.Value*two.Effect.Value > 0 {
			t.Fatalf("%+v\n%+v", one, two)
		}
	})
}

func TestCurve(t *testing.T) {
	x := experiment.Experiment{Name: "saturation", Metric: "rate", Least: 3, Most: 3, Margin: 0.05}
	axis := experiment.Axis{Name: "threads"}
	rates := map[string]float64{"1": 7113, "4": 26248, "16": 76846, "64": 127841, "256": 131559} // seed:fileio-01
	var records []experiment.Record
	for n, level := range []string{"1", "4", "16", "64", "256"} {
		axis.Levels = append(axis.Levels, experiment.Level{Name: level, Set: map[string]string{threadsPath: level}})
		a := experiment.Arm{Name: level, Levels: map[string]string{"threads": level}}
		a.Setup.Load.Threads = []int{1, 4, 16, 64, 256}[n]
		x.Arms = append(x.Arms, a)
		for b := range 3 {
			v := rates[level] * (1 + 0.002*float64(b))
			r := record(experiment.Trial{Block: b + 1, Arm: level}, v)
			records = append(records, r)
		}
		if n > 0 {
			x.Pairs = append(x.Pairs, experiment.Pair{Arm: level, Baseline: "1"})
		}
	}
	x.Axes = []experiment.Axis{axis}
	r := Make(x, records)
	if len(r.Curves) != 1 || r.Curves[0].Capacity == nil || len(r.Curves[0].Points) != 5 || math.Abs(r.Curves[0].Capacity.Max.Value-131500) > 2000 {
		t.Fatalf("%+v", r.Curves)
	}
	t.Log(r.Answer)
	if few := Make(x, records[:6]); few.Curves[0].Capacity != nil || few.Curves[0].Doubt == "" {
		t.Errorf("%+v", few.Curves)
	}
}
